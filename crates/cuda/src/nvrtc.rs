//! The run-time compiler, found and loaded by ourselves so that every failure is an error that says where
//! we looked.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;

use engine::{Error, Result};
use libloading::Library;

#[cfg(windows)]
const NAMES: [&str; 3] = [
    "nvrtc64_130_0.dll",
    "nvrtc64_120_0.dll",
    "nvrtc64_112_0.dll",
];
#[cfg(not(windows))]
const NAMES: [&str; 4] = [
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so.11.2",
    "libnvrtc.so",
];

/// Environment variables that name the toolkit's folder, as NVIDIA's own tools read them.
const HOMES: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
type Archs = unsafe extern "C" fn(*mut c_int) -> c_int;

/// The compiler.
pub struct Nvrtc {
    create: Create,
    compile: Compile,
    log_size: Size,
    log: Text,
    cubin_size: Size,
    cubin: Text,
    destroy: Destroy,
    version: (i32, i32),
    archs: Vec<i32>,
    // Last: the functions above point into it.
    library: Library,
}

impl std::fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Nvrtc {}.{}", self.version.0, self.version.1)
    }
}

fn failed(what: String) -> Error {
    Error::Device {
        device: "cuda".to_owned(),
        what,
    }
}

/// Where the library may lie: the loader's own path first, then the toolkit's folders.
fn candidates() -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = NAMES.iter().map(PathBuf::from).collect();
    let homes = HOMES
        .iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from)
        .chain([PathBuf::from("/usr/local/cuda")]);
    for home in homes {
        for folder in ["lib64", "lib", "bin"] {
            out.extend(NAMES.iter().map(|n| home.join(folder).join(n)));
        }
    }
    out
}

impl Nvrtc {
    /// Finds and loads it.
    ///
    /// # Errors
    /// When no candidate can be loaded, naming where they were looked for.
    pub fn find() -> Result<Self> {
        for path in candidates() {
            // SAFETY: loading runs the library's initialisers; the names are those of NVIDIA's compiler,
            // which has none that touch this process.
            if let Ok(library) = unsafe { Library::new(&path) } {
                return Self::bind(library)
                    .map_err(|e| failed(format!("{} is no usable NVRTC: {e}", path.display())));
            }
        }
        Err(failed(format!(
            "NVRTC, NVIDIA's run-time compiler, was not found: looked for {} on the library path, in {} and in \
             /usr/local/cuda; install the CUDA toolkit's nvrtc package or set CUDA_HOME",
            NAMES.join(", "),
            HOMES.join(", ")
        )))
    }

    fn bind(library: Library) -> Result<Self, libloading::Error> {
        // SAFETY: each name is looked up with the signature of NVIDIA's nvrtc.h, the same since CUDA 11.2,
        // and the pointers live no longer than `library`, which moves into the same value.
        let mut n = unsafe {
            Self {
                create: *library.get::<Create>(b"nvrtcCreateProgram\0")?,
                compile: *library.get::<Compile>(b"nvrtcCompileProgram\0")?,
                log_size: *library.get::<Size>(b"nvrtcGetProgramLogSize\0")?,
                log: *library.get::<Text>(b"nvrtcGetProgramLog\0")?,
                cubin_size: *library.get::<Size>(b"nvrtcGetCUBINSize\0")?,
                cubin: *library.get::<Text>(b"nvrtcGetCUBIN\0")?,
                destroy: *library.get::<Destroy>(b"nvrtcDestroyProgram\0")?,
                version: (0, 0),
                archs: Vec::new(),
                library,
            }
        };
        // SAFETY: as above; the arguments are places for one number each, or for as many as the count said.
        unsafe {
            let version = *n.library.get::<Version>(b"nvrtcVersion\0")?;
            version(&raw mut n.version.0, &raw mut n.version.1);
            let count = *n.library.get::<Archs>(b"nvrtcGetNumSupportedArchs\0")?;
            let list = *n.library.get::<Archs>(b"nvrtcGetSupportedArchs\0")?;
            let mut k = 0;
            count(&raw mut k);
            n.archs = vec![0; k.max(0) as usize];
            list(n.archs.as_mut_ptr());
        }
        Ok(n)
    }

    /// Its version.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Compute capabilities it can compile for, as `90` for 9.0.
    pub fn archs(&self) -> &[i32] {
        &self.archs
    }

    /// Compiles `source` for compute capability `arch` (as `90`) to machine code.
    ///
    /// # Errors
    /// With the compiler's own messages.
    pub fn compile(&self, name: &str, source: &str, arch: i32) -> Result<Vec<u8>> {
        if !self.archs.contains(&arch) {
            return Err(failed(format!(
                "NVRTC {}.{} cannot compile for sm_{arch}; it can for {:?}",
                self.version.0, self.version.1, self.archs
            )));
        }
        let inner = |e: std::ffi::NulError| failed(format!("{name}: {e}"));
        let (c_source, c_name) = (
            CString::new(source).map_err(inner)?,
            CString::new(name).map_err(inner)?,
        );
        let options = [
            format!("--gpu-architecture=sm_{arch}"),
            "--std=c++17".to_owned(),
        ]
        .map(|o| CString::new(o).unwrap_or_default());
        let pointers = options.each_ref().map(|o| o.as_ptr());
        let mut program: Program = std::ptr::null_mut();
        // SAFETY: all strings end in a zero and outlive the calls; `program` is the place for a handle,
        // which is used only when its creation succeeded and destroyed once; buffers have the size the
        // library asked for.
        unsafe {
            let rc = (self.create)(
                &raw mut program,
                c_source.as_ptr(),
                c_name.as_ptr(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            );
            if rc != 0 {
                return Err(failed(format!("{name}: NVRTC error {rc}")));
            }
            let rc = (self.compile)(program, pointers.len() as c_int, pointers.as_ptr());
            let result = if rc == 0 {
                Self::fetch(program, self.cubin_size, self.cubin)
            } else {
                let log = Self::fetch(program, self.log_size, self.log).unwrap_or_default();
                let log = CStr::from_bytes_until_nul(&log)
                    .unwrap_or_default()
                    .to_string_lossy();
                Err(failed(format!(
                    "{name} does not compile for sm_{arch} (NVRTC error {rc}): {log}"
                )))
            };
            (self.destroy)(&raw mut program);
            result
        }
    }

    /// A text or binary result of `program`.
    ///
    /// # Safety
    /// `program` must be a live program and the functions a matching pair.
    unsafe fn fetch(program: Program, size: Size, get: Text) -> Result<Vec<u8>> {
        let mut n = 0;
        // SAFETY: by this function's contract; the buffer has the size just asked for.
        let (rc, bytes) = unsafe {
            let mut rc = size(program, &raw mut n);
            let mut bytes = vec![0_u8; n];
            if rc == 0 {
                rc = get(program, bytes.as_mut_ptr().cast());
            }
            (rc, bytes)
        };
        if rc == 0 {
            Ok(bytes)
        } else {
            Err(failed(format!("NVRTC error {rc} while reading a result")))
        }
    }
}
