// What llama.cpp computes on a GGUF file, in the form that `molten verify --against` reads.
//     llama-against MODEL.gguf OUT.json [TOKENS [PROMPT [fa]]]
// Greedy continuation of the prompt, one token a step; the 64 largest logits of each step. A fifth argument turns
// flash attention on.
#include "llama.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

static const char *PROMPT =
    "Write a short Python function that returns the n-th Fibonacci number, then explain in two sentences how fast it "
    "is and how it could be made faster.";

int main(int argc, char **argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: llama-against MODEL.gguf OUT.json [TOKENS [PROMPT [fa]]]\n");
        return 2;
    }
    const int steps = argc > 3 ? std::atoi(argv[3]) : 64;
    const std::string prompt = argc > 4 ? argv[4] : PROMPT;
    llama_log_set([](ggml_log_level level, const char *text, void *) {
        if (level >= GGML_LOG_LEVEL_ERROR && level != GGML_LOG_LEVEL_CONT) std::fputs(text, stderr);
    }, nullptr);
    llama_backend_init();
    llama_model_params mp = llama_model_default_params();
    mp.n_gpu_layers = 0;
    llama_model *model = llama_model_load_from_file(argv[1], mp);
    if (!model) return 1;
    const llama_vocab *vocab = llama_model_get_vocab(model);
    const int n_vocab = llama_vocab_n_tokens(vocab);

    std::vector<llama_token> tokens(prompt.size() + 8);
    const int n = llama_tokenize(vocab, prompt.c_str(), prompt.size(), tokens.data(), tokens.size(), true, true);
    if (n < 1) {
        std::fprintf(stderr, "the prompt has no tokens\n");
        return 1;
    }
    tokens.resize(n);
    llama_context_params cp = llama_context_default_params();
    cp.n_ctx = n + steps + 8;
    cp.n_batch = cp.n_ubatch = std::max(n, 32);
    cp.n_threads = cp.n_threads_batch = 2;
    cp.flash_attn_type = argc > 5 ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
    llama_context *ctx = llama_init_from_model(model, cp);
    if (!ctx) return 1;

    std::string positions;
    std::vector<llama_token> feed = tokens;
    std::vector<int> order(n_vocab);
    for (int step = 0; step < steps; ++step) {
        if (llama_decode(ctx, llama_batch_get_one(feed.data(), feed.size()))) {
            std::fprintf(stderr, "llama_decode failed\n");
            return 1;
        }
        const float *row = llama_get_logits_ith(ctx, -1);
        double sum = 0, squares = 0;
        for (int i = 0; i < n_vocab; ++i) sum += row[i];
        const double mean = sum / n_vocab;
        for (int i = 0; i < n_vocab; ++i) squares += (row[i] - mean) * (row[i] - mean);
        std::iota(order.begin(), order.end(), 0);
        const int top = std::min(64, n_vocab);
        std::partial_sort(order.begin(), order.begin() + top, order.end(), [row](int a, int b) {
            return row[a] != row[b] ? row[a] > row[b] : a < b;
        });
        char text[96];
        std::snprintf(text, sizeof text, "%s{\"position\":%zu,\"sd\":%.9g,\"top\":[", step ? ",\n" : "",
                      tokens.size() - 1, std::sqrt(squares / n_vocab));
        positions += text;
        for (int i = 0; i < top; ++i) {
            std::snprintf(text, sizeof text, "%s[%d,%.9g]", i ? "," : "", order[i], row[order[i]]);
            positions += text;
        }
        positions += "]}";
        feed = {order[0]};
        tokens.push_back(order[0]);
    }
    std::FILE *out = std::fopen(argv[2], "w");
    if (!out) {
        std::perror(argv[2]);
        return 1;
    }
    std::fprintf(out, "{\"schema\":1,\"engine\":\"llama.cpp, CPU\",\"prompt_tokens\":%d,\"tokens\":[", n);
    for (size_t i = 0; i < tokens.size(); ++i) std::fprintf(out, "%s%d", i ? "," : "", tokens[i]);
    std::fprintf(out, "],\n\"positions\":[%s]}\n", positions.c_str());
    if (std::fclose(out)) {
        std::perror(argv[2]);
        return 1;
    }
    std::printf("%s: %d positions by llama.cpp after a prompt of %d tokens\n", argv[2], steps, n);
    llama_free(ctx);
    llama_model_free(model);
    llama_backend_free();
    return 0;
}
