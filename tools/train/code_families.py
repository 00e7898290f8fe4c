"""Hand-written task families. Each block: name ; other names | args | description ; ... then Python variants, Rust variants and tests."""

RAW = r'''
@ factorial ; fact | n | return the factorial of n ; compute n factorial ; compute the factorial of a number
py
def factorial(n):
    result = 1
    for i in range(2, n + 1):
        result *= i
    return result
py
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)
rs
fn factorial(n: u64) -> u64 {
    (1..=n).product()
}
rs
fn factorial(n: u64) -> u64 {
    if n <= 1 {
        1
    } else {
        n * factorial(n - 1)
    }
}
t (0,) 1 ; (5,) 120
@ fibonacci ; fib ; nth_fibonacci | n | return the nth Fibonacci number ; compute the n-th Fibonacci number
py
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
rs
fn fibonacci(n: u32) -> u64 {
    let (mut a, mut b) = (0, 1);
    for _ in 0..n {
        (a, b) = (b, a + b);
    }
    a
}
t (0,) 0 ; (10,) 55
@ fibonacci_list ; fib_list | n | return the first n Fibonacci numbers ; list the first n Fibonacci numbers
py
def fibonacci_list(n):
    result = []
    a, b = 0, 1
    for _ in range(n):
        result.append(a)
        a, b = b, a + b
    return result
rs
fn fibonacci_list(n: usize) -> Vec<u64> {
    let mut result = Vec::with_capacity(n);
    let (mut a, mut b) = (0, 1);
    for _ in 0..n {
        result.push(a);
        (a, b) = (b, a + b);
    }
    result
}
t (5,) [0, 1, 1, 2, 3]
@ is_prime ; prime ; check_prime | n | check whether a number is prime ; return True if n is a prime number ; test if n is prime
py
def is_prime(n):
    if n < 2:
        return False
    for i in range(2, int(n ** 0.5) + 1):
        if n % i == 0:
            return False
    return True
py
def is_prime(n):
    return n > 1 and all(n % i for i in range(2, int(n ** 0.5) + 1))
rs
fn is_prime(n: u64) -> bool {
    if n < 2 {
        return false;
    }
    let mut i = 2;
    while i * i <= n {
        if n % i == 0 {
            return false;
        }
        i += 1;
    }
    true
}
t (1,) False ; (7,) True ; (9,) False
@ primes_up_to ; sieve ; list_primes | n | return all primes up to n ; list the prime numbers up to n ; find all primes not larger than n
py
def primes_up_to(n):
    sieve = [True] * (n + 1)
    primes = []
    for i in range(2, n + 1):
        if sieve[i]:
            primes.append(i)
            for j in range(i * i, n + 1, i):
                sieve[j] = False
    return primes
rs
fn primes_up_to(n: usize) -> Vec<usize> {
    let mut sieve = vec![true; n + 1];
    let mut primes = Vec::new();
    for i in 2..=n {
        if sieve[i] {
            primes.push(i);
            let mut j = i * i;
            while j <= n {
                sieve[j] = false;
                j += i;
            }
        }
    }
    primes
}
t (10,) [2, 3, 5, 7]
@ gcd ; greatest_common_divisor | a b | return the greatest common divisor of two numbers ; compute the gcd of a and b
py
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a
rs
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}
t (12, 18) 6
@ lcm ; least_common_multiple | a b | return the least common multiple of two numbers ; compute the lcm of a and b
py
def lcm(a, b):
    x, y = a, b
    while y:
        x, y = y, x % y
    return a * b // x
rs
fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
t (4, 6) 12
@ add ; add_numbers ; sum_two | a b | add two numbers ; return the sum of two numbers ; return a plus b
py
def add(a, b):
    return a + b
rs
fn add(a: i64, b: i64) -> i64 {
    a + b
}
t (2, 3) 5
@ subtract ; minus ; difference | a b | subtract b from a ; return the difference of two numbers ; return a minus b
py
def subtract(a, b):
    return a - b
rs
fn subtract(a: i64, b: i64) -> i64 {
    a - b
}
t (5, 3) 2
@ multiply ; times ; mul | a b | multiply two numbers ; return the product of two numbers
py
def multiply(a, b):
    return a * b
rs
fn multiply(a: i64, b: i64) -> i64 {
    a * b
}
t (2, 3) 6
@ divide ; safe_divide ; div | a b | divide a by b and return None if b is zero ; divide two numbers safely ; return a divided by b or None for zero
py
def divide(a, b):
    if b == 0:
        return None
    return a / b
rs
fn divide(a: f64, b: f64) -> Option<f64> {
    if b == 0.0 {
        None
    } else {
        Some(a / b)
    }
}
t (6, 3) 2.0 ; (1, 0) None
@ power ; pow_int | base exponent | raise a base to an exponent ; compute base to the power of exponent
py
def power(base, exponent):
    result = 1
    for _ in range(exponent):
        result *= base
    return result
rs
fn power(base: i64, exponent: u32) -> i64 {
    base.pow(exponent)
}
t (2, 5) 32
@ is_even ; even | n | check whether a number is even ; return True if n is even
py
def is_even(n):
    return n % 2 == 0
rs
fn is_even(n: i64) -> bool {
    n % 2 == 0
}
t (4,) True ; (3,) False
@ is_odd ; odd | n | check whether a number is odd ; return True if n is odd
py
def is_odd(n):
    return n % 2 != 0
rs
fn is_odd(n: i64) -> bool {
    n % 2 != 0
}
t (4,) False ; (3,) True
@ absolute ; abs_value | n | return the absolute value of a number without using abs ; compute the absolute value of n
py
def absolute(n):
    return -n if n < 0 else n
rs
fn absolute(n: i64) -> i64 {
    if n < 0 {
        -n
    } else {
        n
    }
}
t (-4,) 4
@ sign ; signum | n | return the sign of a number as -1, 0 or 1 ; return -1, 0 or 1 for the sign of n
py
def sign(n):
    if n > 0:
        return 1
    if n < 0:
        return -1
    return 0
rs
fn sign(n: i64) -> i64 {
    n.signum()
}
t (-4,) -1 ; (0,) 0
@ max_of_two ; larger ; maximum | a b | return the larger of two numbers ; return the maximum of a and b
py
def max_of_two(a, b):
    return a if a > b else b
rs
fn max_of_two(a: i64, b: i64) -> i64 {
    if a > b {
        a
    } else {
        b
    }
}
t (2, 3) 3
@ max_of_three ; largest_of_three | a b c | return the largest of three numbers ; find the maximum of three numbers
py
def max_of_three(a, b, c):
    return max(a, b, c)
rs
fn max_of_three(a: i64, b: i64, c: i64) -> i64 {
    a.max(b).max(c)
}
t (2, 9, 3) 9
@ clamp ; limit ; bound | value low high | clamp a value between low and high ; limit a value to a range
py
def clamp(value, low, high):
    return max(low, min(value, high))
rs
fn clamp(value: i64, low: i64, high: i64) -> i64 {
    value.max(low).min(high)
}
t (5, 0, 3) 3 ; (-1, 0, 3) 0
@ swap ; swap_pair | a b | return two values in swapped order ; swap two values
py
def swap(a, b):
    return b, a
rs
fn swap<T>(a: T, b: T) -> (T, T) {
    (b, a)
}
t (1, 2) (2, 1)
@ digit_sum ; sum_of_digits ; sum_digits | n | return the sum of the digits of a number ; add up the digits of n
py
def digit_sum(n):
    return sum(int(d) for d in str(n))
py
def digit_sum(n):
    total = 0
    while n > 0:
        total += n % 10
        n //= 10
    return total
rs
fn digit_sum(mut n: u64) -> u64 {
    let mut total = 0;
    while n > 0 {
        total += n % 10;
        n /= 10;
    }
    total
}
t (123,) 6
@ reverse_number ; reverse_digits | n | reverse the digits of a number ; return n with its digits reversed
py
def reverse_number(n):
    return int(str(n)[::-1])
rs
fn reverse_number(mut n: u64) -> u64 {
    let mut result = 0;
    while n > 0 {
        result = result * 10 + n % 10;
        n /= 10;
    }
    result
}
t (123,) 321
@ count_digits ; num_digits | n | count the digits of a number ; return how many digits n has
py
def count_digits(n):
    return len(str(abs(n)))
rs
fn count_digits(n: u64) -> usize {
    n.to_string().len()
}
t (1234,) 4
@ divisors ; get_divisors ; factors | n | return all divisors of a number ; list the divisors of n ; find all factors of n
py
def divisors(n):
    return [i for i in range(1, n + 1) if n % i == 0]
rs
fn divisors(n: u64) -> Vec<u64> {
    (1..=n).filter(|i| n % i == 0).collect()
}
t (6,) [1, 2, 3, 6]
@ prime_factors ; factorize | n | return the prime factors of a number ; factorize n into primes
py
def prime_factors(n):
    factors = []
    d = 2
    while d * d <= n:
        while n % d == 0:
            factors.append(d)
            n //= d
        d += 1
    if n > 1:
        factors.append(n)
    return factors
rs
fn prime_factors(mut n: u64) -> Vec<u64> {
    let mut factors = Vec::new();
    let mut d = 2;
    while d * d <= n {
        while n % d == 0 {
            factors.push(d);
            n /= d;
        }
        d += 1;
    }
    if n > 1 {
        factors.push(n);
    }
    factors
}
t (12,) [2, 2, 3]
@ sum_to_n ; sum_range ; gauss_sum | n | return the sum of the numbers from 1 to n ; add all integers from 1 to n
py
def sum_to_n(n):
    return n * (n + 1) // 2
py
def sum_to_n(n):
    return sum(range(1, n + 1))
rs
fn sum_to_n(n: u64) -> u64 {
    (1..=n).sum()
}
t (4,) 10
@ fizzbuzz ; fizz_buzz | n | return the FizzBuzz list for the numbers 1 to n ; solve FizzBuzz up to n ; return FizzBuzz strings from 1 to n
py
def fizzbuzz(n):
    result = []
    for i in range(1, n + 1):
        if i % 15 == 0:
            result.append("FizzBuzz")
        elif i % 3 == 0:
            result.append("Fizz")
        elif i % 5 == 0:
            result.append("Buzz")
        else:
            result.append(str(i))
    return result
rs
fn fizzbuzz(n: u32) -> Vec<String> {
    (1..=n)
        .map(|i| match (i % 3, i % 5) {
            (0, 0) => "FizzBuzz".to_string(),
            (0, _) => "Fizz".to_string(),
            (_, 0) => "Buzz".to_string(),
            _ => i.to_string(),
        })
        .collect()
}
t (5,) ["1", "2", "Fizz", "4", "Buzz"]
@ celsius_to_fahrenheit ; c_to_f | celsius | convert Celsius to Fahrenheit ; turn a temperature in Celsius into Fahrenheit
py
def celsius_to_fahrenheit(celsius):
    return celsius * 9 / 5 + 32
rs
fn celsius_to_fahrenheit(celsius: f64) -> f64 {
    celsius * 9.0 / 5.0 + 32.0
}
t (100,) 212.0
@ fahrenheit_to_celsius ; f_to_c | fahrenheit | convert Fahrenheit to Celsius ; turn a temperature in Fahrenheit into Celsius
py
def fahrenheit_to_celsius(fahrenheit):
    return (fahrenheit - 32) * 5 / 9
rs
fn fahrenheit_to_celsius(fahrenheit: f64) -> f64 {
    (fahrenheit - 32.0) * 5.0 / 9.0
}
t (212,) 100.0
@ circle_area ; area_of_circle | radius | compute the area of a circle ; return the area of a circle with a given radius
py
import math


def circle_area(radius):
    return math.pi * radius ** 2
rs
fn circle_area(radius: f64) -> f64 {
    std::f64::consts::PI * radius * radius
}
t (0,) 0.0
@ rectangle_area ; area | width height | compute the area of a rectangle ; return the area of a rectangle
py
def rectangle_area(width, height):
    return width * height
rs
fn rectangle_area(width: f64, height: f64) -> f64 {
    width * height
}
t (2, 3) 6
@ distance ; euclidean_distance | x1 y1 x2 y2 | compute the distance between two points ; return the Euclidean distance of two points
py
import math


def distance(x1, y1, x2, y2):
    return math.sqrt((x2 - x1) ** 2 + (y2 - y1) ** 2)
rs
fn distance(x1: f64, y1: f64, x2: f64, y2: f64) -> f64 {
    ((x2 - x1).powi(2) + (y2 - y1).powi(2)).sqrt()
}
t (0, 0, 3, 4) 5.0
@ is_leap_year ; leap_year | year | check whether a year is a leap year ; return True for leap years
py
def is_leap_year(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
rs
fn is_leap_year(year: u32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}
t (2000,) True ; (1900,) False
@ binary_search ; bsearch ; search_sorted | xs target | find the index of a value in a sorted list by binary search ; implement binary search
py
def binary_search(xs, target):
    low, high = 0, len(xs) - 1
    while low <= high:
        mid = (low + high) // 2
        if xs[mid] == target:
            return mid
        if xs[mid] < target:
            low = mid + 1
        else:
            high = mid - 1
    return -1
rs
fn binary_search(xs: &[i64], target: i64) -> Option<usize> {
    let (mut low, mut high) = (0, xs.len());
    while low < high {
        let mid = (low + high) / 2;
        if xs[mid] == target {
            return Some(mid);
        }
        if xs[mid] < target {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    None
}
t ([1, 3, 5], 3) 1 ; ([1, 3, 5], 4) -1
@ linear_search ; find_index ; index_of | xs target | return the index of a value in a list ; find the position of an item in a list
py
def linear_search(xs, target):
    for i, x in enumerate(xs):
        if x == target:
            return i
    return -1
rs
fn linear_search(xs: &[i64], target: i64) -> Option<usize> {
    xs.iter().position(|&x| x == target)
}
t ([4, 5], 5) 1
@ bubble_sort ; sort_bubble | xs | sort a list with bubble sort ; implement bubble sort
py
def bubble_sort(xs):
    xs = list(xs)
    for i in range(len(xs)):
        for j in range(len(xs) - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs
rs
fn bubble_sort(xs: &mut [i64]) {
    for i in 0..xs.len() {
        for j in 0..xs.len() - 1 - i {
            if xs[j] > xs[j + 1] {
                xs.swap(j, j + 1);
            }
        }
    }
}
t ([3, 1, 2],) [1, 2, 3]
@ insertion_sort ; sort_insertion | xs | sort a list with insertion sort ; implement insertion sort
py
def insertion_sort(xs):
    xs = list(xs)
    for i in range(1, len(xs)):
        j = i
        while j > 0 and xs[j - 1] > xs[j]:
            xs[j - 1], xs[j] = xs[j], xs[j - 1]
            j -= 1
    return xs
rs
fn insertion_sort(xs: &mut [i64]) {
    for i in 1..xs.len() {
        let mut j = i;
        while j > 0 && xs[j - 1] > xs[j] {
            xs.swap(j - 1, j);
            j -= 1;
        }
    }
}
t ([3, 1, 2],) [1, 2, 3]
@ quick_sort ; quicksort | xs | sort a list with quicksort ; implement quicksort
py
def quick_sort(xs):
    if len(xs) <= 1:
        return xs
    pivot = xs[0]
    left = [x for x in xs[1:] if x < pivot]
    right = [x for x in xs[1:] if x >= pivot]
    return quick_sort(left) + [pivot] + quick_sort(right)
rs
fn quick_sort(xs: &[i64]) -> Vec<i64> {
    if xs.is_empty() {
        return Vec::new();
    }
    let pivot = xs[0];
    let left: Vec<i64> = xs[1..].iter().copied().filter(|&x| x < pivot).collect();
    let right: Vec<i64> = xs[1..].iter().copied().filter(|&x| x >= pivot).collect();
    let mut result = quick_sort(&left);
    result.push(pivot);
    result.extend(quick_sort(&right));
    result
}
t ([3, 1, 2],) [1, 2, 3]
@ merge_sorted ; merge ; merge_lists | a b | merge two sorted lists ; merge two sorted lists into one sorted list
py
def merge_sorted(a, b):
    result = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            result.append(a[i])
            i += 1
        else:
            result.append(b[j])
            j += 1
    return result + a[i:] + b[j:]
rs
fn merge_sorted(a: &[i64], b: &[i64]) -> Vec<i64> {
    let mut result = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] <= b[j] {
            result.push(a[i]);
            i += 1;
        } else {
            result.push(b[j]);
            j += 1;
        }
    }
    result.extend_from_slice(&a[i..]);
    result.extend_from_slice(&b[j..]);
    result
}
t ([1, 3], [2]) [1, 2, 3]
@ unique ; dedupe ; remove_duplicates | xs | remove duplicates from a list and keep the order ; return the distinct items of a list ; remove repeated values from a list
py
def unique(xs):
    seen = set()
    result = []
    for x in xs:
        if x not in seen:
            seen.add(x)
            result.append(x)
    return result
py
def unique(xs):
    return list(dict.fromkeys(xs))
rs
use std::collections::HashSet;

fn unique(xs: &[i64]) -> Vec<i64> {
    let mut seen = HashSet::new();
    xs.iter().copied().filter(|x| seen.insert(*x)).collect()
}
t ([1, 2, 1],) [1, 2]
@ flatten ; flatten_list | xs | flatten a list of lists ; turn a nested list into one list
py
def flatten(xs):
    return [item for sub in xs for item in sub]
rs
fn flatten(xs: &[Vec<i64>]) -> Vec<i64> {
    xs.iter().flatten().copied().collect()
}
t ([[1], [2, 3]],) [1, 2, 3]
@ chunk ; chunks ; split_chunks | xs size | split a list into chunks of a given size ; cut a list into parts of a fixed size
py
def chunk(xs, size):
    return [xs[i:i + size] for i in range(0, len(xs), size)]
rs
fn chunk(xs: &[i64], size: usize) -> Vec<Vec<i64>> {
    xs.chunks(size).map(|c| c.to_vec()).collect()
}
t ([1, 2, 3], 2) [[1, 2], [3]]
@ rotate ; rotate_left | xs k | rotate a list to the left by k places ; shift a list left by k positions with wrap-around
py
def rotate(xs, k):
    if not xs:
        return []
    k %= len(xs)
    return xs[k:] + xs[:k]
rs
fn rotate(xs: &[i64], k: usize) -> Vec<i64> {
    let mut result = xs.to_vec();
    if !result.is_empty() {
        let k = k % result.len();
        result.rotate_left(k);
    }
    result
}
t ([1, 2, 3], 1) [2, 3, 1]
@ reverse_list ; reversed_list | xs | reverse a list ; return a list in reverse order
py
def reverse_list(xs):
    return xs[::-1]
rs
fn reverse_list(xs: &[i64]) -> Vec<i64> {
    xs.iter().rev().copied().collect()
}
t ([1, 2],) [2, 1]
@ intersection ; common ; common_items | a b | return the common items of two lists ; find the items that two lists share
py
def intersection(a, b):
    return [x for x in a if x in b]
rs
fn intersection(a: &[i64], b: &[i64]) -> Vec<i64> {
    a.iter().copied().filter(|x| b.contains(x)).collect()
}
t ([1, 2], [2, 3]) [2]
@ list_difference ; without ; not_in | a b | return the items of a that are not in b ; remove the items of one list from another
py
def list_difference(a, b):
    return [x for x in a if x not in b]
rs
fn list_difference(a: &[i64], b: &[i64]) -> Vec<i64> {
    a.iter().copied().filter(|x| !b.contains(x)).collect()
}
t ([1, 2], [2, 3]) [1]
@ second_largest ; second_max | xs | return the second largest number of a list ; find the second biggest value
py
def second_largest(xs):
    values = sorted(set(xs))
    return values[-2] if len(values) > 1 else None
rs
fn second_largest(xs: &[i64]) -> Option<i64> {
    let mut values = xs.to_vec();
    values.sort();
    values.dedup();
    values.iter().rev().nth(1).copied()
}
t ([1, 5, 3],) 3
@ median ; middle_value | xs | compute the median of a list of numbers ; return the median
py
def median(xs):
    values = sorted(xs)
    n = len(values)
    mid = n // 2
    if n % 2:
        return values[mid]
    return (values[mid - 1] + values[mid]) / 2
rs
fn median(xs: &[f64]) -> f64 {
    let mut values = xs.to_vec();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let mid = values.len() / 2;
    if values.len() % 2 == 1 {
        values[mid]
    } else {
        (values[mid - 1] + values[mid]) / 2.0
    }
}
t ([3, 1, 2],) 2 ; ([1, 2, 3, 4],) 2.5
@ mean ; average ; avg | xs | compute the average of a list of numbers ; return the mean of a list
py
def mean(xs):
    return sum(xs) / len(xs) if xs else 0.0
rs
fn mean(xs: &[f64]) -> f64 {
    if xs.is_empty() {
        return 0.0;
    }
    xs.iter().sum::<f64>() / xs.len() as f64
}
t ([1, 2, 3],) 2.0
@ variance ; compute_variance | xs | compute the variance of a list of numbers ; return the population variance
py
def variance(xs):
    mean = sum(xs) / len(xs)
    return sum((x - mean) ** 2 for x in xs) / len(xs)
rs
fn variance(xs: &[f64]) -> f64 {
    let mean = xs.iter().sum::<f64>() / xs.len() as f64;
    xs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / xs.len() as f64
}
t ([1, 3],) 1.0
@ most_common ; mode ; most_frequent | xs | return the most common item of a list ; find the most frequent value
py
def most_common(xs):
    return max(set(xs), key=xs.count)
rs
use std::collections::HashMap;

fn most_common(xs: &[i64]) -> Option<i64> {
    let mut counts = HashMap::new();
    for &x in xs {
        *counts.entry(x).or_insert(0) += 1;
    }
    counts.into_iter().max_by_key(|&(_, n)| n).map(|(x, _)| x)
}
t ([1, 2, 2],) 2
@ count_items ; frequencies ; count_occurrences | xs | count how often each item occurs in a list ; return a dictionary with the number of occurrences of each item
py
def count_items(xs):
    counts = {}
    for x in xs:
        counts[x] = counts.get(x, 0) + 1
    return counts
rs
use std::collections::HashMap;

fn count_items(xs: &[String]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for x in xs {
        *counts.entry(x.clone()).or_insert(0) += 1;
    }
    counts
}
t (["a", "b", "a"],) {"a": 2, "b": 1}
@ word_count ; count_words ; word_frequencies | s | count how often each word occurs in a text ; return the word frequencies of a string
py
def word_count(s):
    counts = {}
    for word in s.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return counts
rs
use std::collections::HashMap;

fn word_count(s: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for word in s.to_lowercase().split_whitespace() {
        *counts.entry(word.to_string()).or_insert(0) += 1;
    }
    counts
}
t ("a b A",) {"a": 2, "b": 1}
@ is_sorted ; check_sorted ; sorted_ascending | xs | check whether a list is sorted ; return True if a list is in ascending order
py
def is_sorted(xs):
    return all(a <= b for a, b in zip(xs, xs[1:]))
rs
fn is_sorted(xs: &[i64]) -> bool {
    xs.windows(2).all(|w| w[0] <= w[1])
}
t ([1, 2],) True ; ([2, 1],) False
@ running_sum ; cumulative_sum ; prefix_sums | xs | return the running sums of a list ; compute the cumulative sum of a list
py
def running_sum(xs):
    total = 0
    result = []
    for x in xs:
        total += x
        result.append(total)
    return result
rs
fn running_sum(xs: &[i64]) -> Vec<i64> {
    let mut total = 0;
    xs.iter()
        .map(|x| {
            total += x;
            total
        })
        .collect()
}
t ([1, 2, 3],) [1, 3, 6]
@ dot_product ; dot | a b | compute the dot product of two vectors ; return the scalar product of two lists
py
def dot_product(a, b):
    return sum(x * y for x, y in zip(a, b))
rs
fn dot_product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
t ([1, 2], [3, 4]) 11
@ transpose ; transpose_matrix | matrix | transpose a matrix ; swap the rows and columns of a matrix
py
def transpose(matrix):
    return [list(row) for row in zip(*matrix)]
rs
fn transpose(matrix: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let cols = matrix.first().map_or(0, |row| row.len());
    (0..cols)
        .map(|j| matrix.iter().map(|row| row[j]).collect())
        .collect()
}
t ([[1, 2], [3, 4]],) [[1, 3], [2, 4]]
@ matrix_multiply ; matmul | a b | multiply two matrices ; compute the matrix product of a and b
py
def matrix_multiply(a, b):
    return [
        [sum(x * y for x, y in zip(row, col)) for col in zip(*b)]
        for row in a
    ]
rs
fn matrix_multiply(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let cols = b[0].len();
    a.iter()
        .map(|row| {
            (0..cols)
                .map(|j| row.iter().zip(b).map(|(x, r)| x * r[j]).sum())
                .collect()
        })
        .collect()
}
t ([[1, 2]], [[3], [4]]) [[11]]
@ is_palindrome ; palindrome | s | check whether a string is a palindrome ; test if a text reads the same backwards
py
def is_palindrome(s):
    s = s.lower()
    return s == s[::-1]
rs
fn is_palindrome(s: &str) -> bool {
    let s = s.to_lowercase();
    s.chars().eq(s.chars().rev())
}
t ("Anna",) True ; ("ab",) False
@ is_anagram ; anagram | a b | check whether two strings are anagrams ; test if two words use the same letters
py
def is_anagram(a, b):
    return sorted(a.lower()) == sorted(b.lower())
rs
fn is_anagram(a: &str, b: &str) -> bool {
    let mut x: Vec<char> = a.to_lowercase().chars().collect();
    let mut y: Vec<char> = b.to_lowercase().chars().collect();
    x.sort();
    y.sort();
    x == y
}
t ("tea", "eat") True
@ caesar ; caesar_cipher ; shift_letters | s k | encrypt a string with a Caesar shift of k ; shift every letter of a string by k places
py
def caesar(s, k):
    result = ""
    for c in s:
        if c.isalpha():
            base = ord("A") if c.isupper() else ord("a")
            result += chr((ord(c) - base + k) % 26 + base)
        else:
            result += c
    return result
rs
fn caesar(s: &str, k: u8) -> String {
    s.chars()
        .map(|c| {
            if c.is_ascii_alphabetic() {
                let base = if c.is_ascii_uppercase() { b'A' } else { b'a' };
                ((c as u8 - base + k % 26) % 26 + base) as char
            } else {
                c
            }
        })
        .collect()
}
t ("abz", 1) "bca"
@ to_snake_case ; snake_case ; camel_to_snake | s | convert camel case to snake case ; turn a camelCase name into snake_case
py
def to_snake_case(s):
    result = ""
    for i, c in enumerate(s):
        if c.isupper() and i > 0:
            result += "_"
        result += c.lower()
    return result
rs
fn to_snake_case(s: &str) -> String {
    let mut result = String::new();
    for (i, c) in s.chars().enumerate() {
        if c.is_uppercase() && i > 0 {
            result.push('_');
        }
        result.extend(c.to_lowercase());
    }
    result
}
t ("camelCase",) "camel_case"
@ to_camel_case ; camel_case ; snake_to_camel | s | convert snake case to camel case ; turn a snake_case name into camelCase
py
def to_camel_case(s):
    first, *rest = s.split("_")
    return first + "".join(word.capitalize() for word in rest)
rs
fn to_camel_case(s: &str) -> String {
    let mut result = String::new();
    let mut upper = false;
    for c in s.chars() {
        if c == '_' {
            upper = true;
        } else if upper {
            result.extend(c.to_uppercase());
            upper = false;
        } else {
            result.push(c);
        }
    }
    result
}
t ("a_bc",) "aBc"
@ hamming_distance ; hamming | a b | compute the Hamming distance of two strings ; count the positions where two strings differ
py
def hamming_distance(a, b):
    return sum(x != y for x, y in zip(a, b))
rs
fn hamming_distance(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).filter(|(x, y)| x != y).count()
}
t ("abc", "abd") 1
@ levenshtein ; edit_distance | a b | compute the edit distance between two strings ; compute the Levenshtein distance
py
def levenshtein(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            cost = 0 if x == y else 1
            current.append(min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + cost))
        previous = current
    return previous[-1]
rs
fn levenshtein(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut current = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let cost = if x == y { 0 } else { 1 };
            current.push((previous[j + 1] + 1).min(current[j] + 1).min(previous[j] + cost));
        }
        previous = current;
    }
    previous[b.len()]
}
t ("kitten", "sitting") 3
@ balanced_brackets ; is_balanced ; valid_parentheses | s | check whether the brackets in a string are balanced ; test if parentheses match
py
def balanced_brackets(s):
    pairs = {")": "(", "]": "[", "}": "{"}
    stack = []
    for c in s:
        if c in "([{":
            stack.append(c)
        elif c in pairs:
            if not stack or stack.pop() != pairs[c]:
                return False
    return not stack
rs
fn balanced_brackets(s: &str) -> bool {
    let mut stack = Vec::new();
    for c in s.chars() {
        match c {
            '(' => stack.push(')'),
            '[' => stack.push(']'),
            '{' => stack.push('}'),
            ')' | ']' | '}' => {
                if stack.pop() != Some(c) {
                    return false;
                }
            }
            _ => {}
        }
    }
    stack.is_empty()
}
t ("(a[b])",) True ; ("(]",) False
@ run_length_encode ; rle ; encode_runs | s | encode a string with run-length encoding ; compress repeated characters of a string
py
def run_length_encode(s):
    result = []
    for c in s:
        if result and result[-1][0] == c:
            result[-1][1] += 1
        else:
            result.append([c, 1])
    return [(c, n) for c, n in result]
rs
fn run_length_encode(s: &str) -> Vec<(char, usize)> {
    let mut result: Vec<(char, usize)> = Vec::new();
    for c in s.chars() {
        match result.last_mut() {
            Some((last, n)) if *last == c => *n += 1,
            _ => result.push((c, 1)),
        }
    }
    result
}
t ("aab",) [("a", 2), ("b", 1)]
@ to_binary ; int_to_binary | n | convert a number to a binary string ; return the binary digits of n
py
def to_binary(n):
    return bin(n)[2:]
rs
fn to_binary(n: u64) -> String {
    format!("{:b}", n)
}
t (5,) "101"
@ from_binary ; binary_to_int | s | convert a binary string to a number ; parse a string of binary digits
py
def from_binary(s):
    return int(s, 2)
rs
fn from_binary(s: &str) -> Option<u64> {
    u64::from_str_radix(s, 2).ok()
}
t ("101",) 5
@ to_hex ; int_to_hex | n | convert a number to a hexadecimal string ; return n as hexadecimal
py
def to_hex(n):
    return format(n, "x")
rs
fn to_hex(n: u64) -> String {
    format!("{:x}", n)
}
t (255,) "ff"
@ parse_int ; to_int ; safe_int | s | parse an integer from a string and return None on failure ; convert a string to an integer safely
py
def parse_int(s):
    try:
        return int(s)
    except ValueError:
        return None
rs
fn parse_int(s: &str) -> Option<i64> {
    s.trim().parse().ok()
}
t ("12",) 12 ; ("x",) None
@ read_lines ; load_lines | path | read the lines of a file ; read a file and return its lines
py
def read_lines(path):
    with open(path) as f:
        return f.read().splitlines()
rs
use std::fs;
use std::io;

fn read_lines(path: &str) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(path)?;
    Ok(text.lines().map(String::from).collect())
}
t
@ read_file ; load_text | path | read a text file ; return the content of a file as a string
py
def read_file(path):
    with open(path, encoding="utf-8") as f:
        return f.read()
rs
use std::fs;
use std::io;

fn read_file(path: &str) -> io::Result<String> {
    fs::read_to_string(path)
}
t
@ write_file ; save_text | path text | write a string to a file ; save text to a file
py
def write_file(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
rs
use std::fs;
use std::io;

fn write_file(path: &str, text: &str) -> io::Result<()> {
    fs::write(path, text)
}
t
@ append_line ; add_line | path line | append a line to a file ; add a line at the end of a file
py
def append_line(path, line):
    with open(path, "a") as f:
        f.write(line + "\n")
rs
use std::fs::OpenOptions;
use std::io::{self, Write};

fn append_line(path: &str, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    writeln!(file, "{}", line)
}
t
@ count_lines ; line_count | path | count the lines of a file ; return the number of lines in a file
py
def count_lines(path):
    with open(path) as f:
        return sum(1 for _ in f)
rs
use std::fs;
use std::io;

fn count_lines(path: &str) -> io::Result<usize> {
    Ok(fs::read_to_string(path)?.lines().count())
}
t
@ load_json ; read_json | path | load a JSON file ; read JSON from a file
py
import json


def load_json(path):
    with open(path) as f:
        return json.load(f)
t
@ save_json ; write_json | path data | save data as a JSON file ; write data to a JSON file
py
import json


def save_json(path, data):
    with open(path, "w") as f:
        json.dump(data, f, indent=2)
t
@ read_csv ; load_csv | path | read a CSV file into a list of dictionaries ; load the rows of a CSV file
py
import csv


def read_csv(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))
t
@ merge_dicts ; combine_dicts | a b | merge two dictionaries ; combine two dictionaries into one
py
def merge_dicts(a, b):
    return {**a, **b}
rs
use std::collections::HashMap;

fn merge_dicts(a: &HashMap<String, i64>, b: &HashMap<String, i64>) -> HashMap<String, i64> {
    let mut result = a.clone();
    result.extend(b.iter().map(|(k, v)| (k.clone(), *v)));
    result
}
t ({"a": 1}, {"b": 2}) {"a": 1, "b": 2}
@ invert_dict ; swap_keys_values | d | swap the keys and values of a dictionary ; invert a dictionary
py
def invert_dict(d):
    return {v: k for k, v in d.items()}
t ({"a": 1},) {1: "a"}
@ group_by_length ; group_words | words | group words by their length ; build a dictionary from word length to words
py
def group_by_length(words):
    groups = {}
    for word in words:
        groups.setdefault(len(word), []).append(word)
    return groups
rs
use std::collections::HashMap;

fn group_by_length(words: &[String]) -> HashMap<usize, Vec<String>> {
    let mut groups: HashMap<usize, Vec<String>> = HashMap::new();
    for word in words {
        groups.entry(word.len()).or_default().push(word.clone());
    }
    groups
}
t (["a", "bb", "c"],) {1: ["a", "c"], 2: ["bb"]}
@ sort_by_value ; sort_dict | d | sort the items of a dictionary by value ; return dictionary items sorted by value
py
def sort_by_value(d):
    return sorted(d.items(), key=lambda item: item[1])
t ({"a": 2, "b": 1},) [("b", 1), ("a", 2)]
@ sort_by_length ; sort_words | words | sort words by length ; order strings from shortest to longest
py
def sort_by_length(words):
    return sorted(words, key=len)
rs
fn sort_by_length(words: &mut Vec<String>) {
    words.sort_by_key(|w| w.len());
}
t (["ccc", "a"],) ["a", "ccc"]
@ join_words ; join_with_comma | words | join words with commas ; turn a list of words into a comma separated string
py
def join_words(words):
    return ", ".join(words)
rs
fn join_words(words: &[String]) -> String {
    words.join(", ")
}
t (["a", "b"],) "a, b"
@ greet ; hello ; say_hello | name | greet a person by name ; return a greeting for a name
py
def greet(name):
    return f"Hello, {name}!"
rs
fn greet(name: &str) -> String {
    format!("Hello, {}!", name)
}
t ("Ann",) "Hello, Ann!"
@ hello_world ; main_hello | | print Hello, world ; print a greeting to the world
py
def hello_world():
    print("Hello, world!")
rs
fn hello_world() {
    println!("Hello, world!");
}
t
@ print_numbers ; count_up | n | print the numbers from 1 to n ; print 1 to n, one per line
py
def print_numbers(n):
    for i in range(1, n + 1):
        print(i)
rs
fn print_numbers(n: u32) {
    for i in 1..=n {
        println!("{}", i);
    }
}
t
@ countdown ; count_down | n | return a list that counts down from n to 1 ; count down from n to 1
py
def countdown(n):
    return list(range(n, 0, -1))
rs
fn countdown(n: u32) -> Vec<u32> {
    (1..=n).rev().collect()
}
t (3,) [3, 2, 1]
@ multiplication_table ; times_table | n | return the multiplication table of n as a list ; list the multiples of n from 1 to 10
py
def multiplication_table(n):
    return [n * i for i in range(1, 11)]
rs
fn multiplication_table(n: u64) -> Vec<u64> {
    (1..=10).map(|i| n * i).collect()
}
t (2,) [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]
@ collatz ; collatz_sequence | n | return the Collatz sequence of n ; compute the Collatz steps from n down to 1
py
def collatz(n):
    result = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        result.append(n)
    return result
rs
fn collatz(mut n: u64) -> Vec<u64> {
    let mut result = vec![n];
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        result.push(n);
    }
    result
}
t (4,) [4, 2, 1]
@ two_sum ; find_pair | xs target | return the indices of two numbers that add up to a target ; find two numbers in a list with a given sum
py
def two_sum(xs, target):
    seen = {}
    for i, x in enumerate(xs):
        if target - x in seen:
            return seen[target - x], i
        seen[x] = i
    return None
rs
use std::collections::HashMap;

fn two_sum(xs: &[i64], target: i64) -> Option<(usize, usize)> {
    let mut seen = HashMap::new();
    for (i, &x) in xs.iter().enumerate() {
        if let Some(&j) = seen.get(&(target - x)) {
            return Some((j, i));
        }
        seen.insert(x, i);
    }
    None
}
t ([2, 7, 11], 9) (0, 1)
@ max_subarray ; kadane | xs | return the largest sum of a contiguous part of a list ; find the maximum subarray sum
py
def max_subarray(xs):
    best = current = xs[0]
    for x in xs[1:]:
        current = max(x, current + x)
        best = max(best, current)
    return best
rs
fn max_subarray(xs: &[i64]) -> i64 {
    let mut best = xs[0];
    let mut current = xs[0];
    for &x in &xs[1..] {
        current = x.max(current + x);
        best = best.max(current);
    }
    best
}
t ([1, -2, 3, 4],) 7
@ quadratic_roots ; solve_quadratic | a b c | return the real roots of a quadratic equation ; solve a quadratic equation
py
import math


def quadratic_roots(a, b, c):
    d = b * b - 4 * a * c
    if d < 0:
        return []
    root = math.sqrt(d)
    return [(-b - root) / (2 * a), (-b + root) / (2 * a)]
rs
fn quadratic_roots(a: f64, b: f64, c: f64) -> Vec<f64> {
    let d = b * b - 4.0 * a * c;
    if d < 0.0 {
        return Vec::new();
    }
    let root = d.sqrt();
    vec![(-b - root) / (2.0 * a), (-b + root) / (2.0 * a)]
}
t (1, -3, 2) [1.0, 2.0]
@ random_choice ; pick_random | xs | pick a random item from a list ; return a random element of a list
py
import random


def random_choice(xs):
    return random.choice(xs)
t
@ timer ; timed ; measure_time | func | measure how long a function takes ; time a function call
py
import time


def timer(func):
    start = time.perf_counter()
    func()
    return time.perf_counter() - start
rs
use std::time::{Duration, Instant};

fn timer(func: impl FnOnce()) -> Duration {
    let start = Instant::now();
    func();
    start.elapsed()
}
t
@ grade ; letter_grade | score | return a letter grade for a score ; convert a score from 0 to 100 into a grade from A to F
py
def grade(score):
    if score >= 90:
        return "A"
    if score >= 80:
        return "B"
    if score >= 70:
        return "C"
    if score >= 60:
        return "D"
    return "F"
rs
fn grade(score: u32) -> char {
    match score {
        90.. => 'A',
        80..=89 => 'B',
        70..=79 => 'C',
        60..=69 => 'D',
        _ => 'F',
    }
}
t (95,) "A" ; (10,) "F"
@ Stack ; | | implement a stack as a class ; define a stack class with push and pop
py
class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        if not self.items:
            return None
        return self.items.pop()

    def is_empty(self):
        return not self.items
rs
pub struct Stack<T> {
    items: Vec<T>,
}

impl<T> Stack<T> {
    pub fn new() -> Self {
        Stack { items: Vec::new() }
    }

    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    pub fn pop(&mut self) -> Option<T> {
        self.items.pop()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
t
@ Queue ; | | implement a queue as a class ; define a queue class with enqueue and dequeue
py
from collections import deque


class Queue:
    def __init__(self):
        self.items = deque()

    def enqueue(self, item):
        self.items.append(item)

    def dequeue(self):
        if not self.items:
            return None
        return self.items.popleft()
rs
use std::collections::VecDeque;

pub struct Queue<T> {
    items: VecDeque<T>,
}

impl<T> Queue<T> {
    pub fn new() -> Self {
        Queue { items: VecDeque::new() }
    }

    pub fn enqueue(&mut self, item: T) {
        self.items.push_back(item);
    }

    pub fn dequeue(&mut self) -> Option<T> {
        self.items.pop_front()
    }
}
t
@ Point ; Vector2 | | define a point class with x and y ; implement a point type with a distance method
py
import math


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def distance(self, other):
        return math.hypot(self.x - other.x, self.y - other.y)
rs
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

impl Point {
    pub fn distance(&self, other: &Point) -> f64 {
        ((self.x - other.x).powi(2) + (self.y - other.y).powi(2)).sqrt()
    }
}
t
@ Counter ; Tally | | define a counter class that can be incremented ; implement a counter type with increment and reset
py
class Counter:
    def __init__(self):
        self.count = 0

    def increment(self):
        self.count += 1

    def reset(self):
        self.count = 0
rs
#[derive(Default)]
pub struct Counter {
    count: u64,
}

impl Counter {
    pub fn increment(&mut self) {
        self.count += 1;
    }

    pub fn reset(&mut self) {
        self.count = 0;
    }

    pub fn value(&self) -> u64 {
        self.count
    }
}
t
@ Account ; BankAccount | | define a bank account class with deposit and withdraw ; implement an account with a balance
py
class Account:
    def __init__(self, balance=0):
        self.balance = balance

    def deposit(self, amount):
        self.balance += amount

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError("not enough money")
        self.balance -= amount
rs
pub struct Account {
    balance: i64,
}

impl Account {
    pub fn deposit(&mut self, amount: i64) {
        self.balance += amount;
    }

    pub fn withdraw(&mut self, amount: i64) -> Result<(), String> {
        if amount > self.balance {
            return Err("not enough money".to_string());
        }
        self.balance -= amount;
        Ok(())
    }
}
t
'''


def _parse():
    import ast
    out, cur, mode = [], None, None
    for line in RAW.strip("\n").split("\n"):
        if line.startswith("@ "):
            names, args, desc = [x.strip() for x in line[2:].split("|")]
            names = [n.strip() for n in names.split(";") if n.strip()]
            cur = dict(name=names[0], names=names[1:], args=args.split(), desc=[d.strip() for d in desc.split(";")], py=[], rs=[], tests=[])
            out.append(cur)
            mode = None
        elif line in ("py", "rs"):
            cur[line].append([])
            mode = line
        elif line == "t" or line.startswith("t ") and mode:
            if line != "t":
                for case in line[2:].split(" ; "):
                    depth, quoted = 0, False
                    for i, c in enumerate(case):
                        quoted ^= c == '"'
                        depth += ((c == "(") - (c == ")")) * (not quoted)
                        if depth == 0: break
                    cur["tests"].append((ast.literal_eval(case[:i + 1]), ast.literal_eval(case[i + 1:].strip())))
            mode = None
        elif mode:
            cur[mode][-1].append(line)
    for f in out:
        for k in ("py", "rs"):
            f[k] = ["\n".join(c).strip("\n") for c in f[k]]
    return out


FAMILIES = _parse()
