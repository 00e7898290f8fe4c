//! The device: a context, one stream, memory and launches. All `unsafe` towards the driver is here.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr,
    DriverError, LaunchConfig, PinnedHostSlice, PushKernelArg, ValidAsZeroBits,
};
use cudarc::nvrtc::Ptx;
use engine::{Error, Result};

use crate::nvrtc::Nvrtc;
use crate::source::Source;

/// Memory on the device.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    slice: CudaSlice<T>,
    ptr: u64,
}

impl<T> Buffer<T> {
    /// The address of element `i`.
    pub(crate) fn at(&self, i: usize) -> Arg {
        assert!(i < self.slice.len(), "an address inside the buffer");
        Arg::Ptr(self.ptr + (i * size_of::<T>()) as u64)
    }

    /// The address of the first element.
    pub(crate) fn start(&self) -> Arg {
        Arg::Ptr(self.ptr)
    }
}

/// Page-locked memory here, into which the device copies without being waited for.
pub(crate) type Pinned<T> = PinnedHostSlice<T>;

/// A kernel's argument.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arg {
    Ptr(u64),
    U64(u64),
    U32(u32),
    I32(i32),
    F32(f32),
}

impl Arg {
    /// No memory.
    pub(crate) const NULL: Self = Self::Ptr(0);

    /// The address `elements` numbers of four bytes on.
    pub(crate) fn plus(self, elements: usize) -> Self {
        match self {
            Self::Ptr(p) => Self::Ptr(p + 4 * elements as u64),
            other => other,
        }
    }
}

/// A device with compiled kernels. Everything it is asked to do runs in the order it was asked, on one stream.
#[derive(Debug)]
pub(crate) struct Gpu {
    name: String,
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    arch: i32,
    kernels: HashMap<&'static str, CudaFunction>,
}

impl Gpu {
    /// Opens device `ordinal`.
    pub(crate) fn open(ordinal: usize) -> Result<Self> {
        let missing = |what: String| Error::Device {
            device: format!("cuda:{ordinal}"),
            what,
        };
        // SAFETY: only tries to load the driver's library; the binding panics later if it is missing.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return Err(missing(
                "the NVIDIA driver was not found: looked for libcuda.so and libcuda.so.1 (nvcuda.dll) on the \
                 library path; install the driver or choose --device cpu"
                    .to_owned(),
            ));
        }
        let open = || {
            let context = CudaContext::new(ordinal)?;
            let stream = context.new_stream()?;
            // SAFETY: events between streams are needed only where there are several; there is this one.
            unsafe { context.disable_event_tracking() };
            let (major, minor) = context.compute_capability()?;
            Ok((context.name()?, context, stream, major * 10 + minor))
        };
        let (name, context, stream, arch) = open().map_err(|e: DriverError| {
            missing(format!("the driver cannot open device {ordinal}: {e}"))
        })?;
        Ok(Self {
            name,
            context,
            stream,
            arch,
            kernels: HashMap::new(),
        })
    }

    /// The vendor's name for the device.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Compute capability, as `90` for 9.0.
    pub(crate) fn arch(&self) -> i32 {
        self.arch
    }

    /// Compiles and loads `sources` for this device.
    pub(crate) fn load(&mut self, nvrtc: &Nvrtc, sources: &[Source]) -> Result<()> {
        for s in sources {
            let binary = nvrtc.compile(s.name, &s.text, self.arch)?;
            let module = self.ok(self.context.load_module(Ptx::from_binary(binary)), s.name)?;
            for k in s.kernels {
                let f = self.ok(module.load_function(k), k)?;
                self.kernels.insert(k, f);
            }
        }
        Ok(())
    }

    fn ok<T>(&self, r: Result<T, DriverError>, what: &str) -> Result<T> {
        use cudarc::driver::sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        r.map_err(|e| {
            if e.0 == CUDA_ERROR_OUT_OF_MEMORY {
                Error::Memory {
                    what: format!("{what} on {}", self.name),
                    todo: "lower --context or choose a smaller model".to_owned(),
                }
            } else {
                Error::Device {
                    device: self.name.clone(),
                    what: format!("{what}: {e}"),
                }
            }
        })
    }

    /// Zeroed memory for `len` elements.
    pub(crate) fn alloc<T: DeviceRepr + ValidAsZeroBits>(&self, len: usize) -> Result<Buffer<T>> {
        let slice = self.ok(self.stream.alloc_zeros::<T>(len.max(1)), "memory")?;
        let ptr = slice.device_ptr(&self.stream).0;
        Ok(Buffer { slice, ptr })
    }

    /// Page-locked memory here for `len` elements.
    pub(crate) fn pinned<T: DeviceRepr + ValidAsZeroBits>(&self, len: usize) -> Result<Pinned<T>> {
        // SAFETY: the memory is unset: it is read only after a copy from the device has filled it, and any
        // bits are a value of these types.
        self.ok(
            unsafe { self.context.alloc_pinned_with_flags::<T>(len.max(1), 0) },
            "page-locked memory",
        )
    }

    /// Copies `from` to the elements of `to` from `at` on. `from` may be reused at once.
    pub(crate) fn upload<T: DeviceRepr>(
        &self,
        from: &[T],
        to: &mut Buffer<T>,
        at: usize,
    ) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        let mut view = to.slice.slice_mut(at..at + from.len());
        self.ok(
            self.stream.memcpy_htod(from, &mut view),
            "copy to the device",
        )
    }

    /// Memory filled with `from`.
    pub(crate) fn uploaded<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        from: &[T],
    ) -> Result<Buffer<T>> {
        let mut to = self.alloc(from.len())?;
        self.upload(from, &mut to, 0)?;
        Ok(to)
    }

    /// Copies on the device.
    pub(crate) fn copy<T: DeviceRepr>(
        &self,
        from: &Buffer<T>,
        len: usize,
        to: &mut Buffer<T>,
        at: usize,
    ) -> Result<()> {
        let mut view = to.slice.slice_mut(at..at + len);
        self.ok(
            self.stream.memcpy_dtod(&from.slice.slice(..len), &mut view),
            "copy on the device",
        )
    }

    /// Waits for everything before and returns the elements `range`.
    pub(crate) fn download<T: DeviceRepr>(
        &self,
        from: &Buffer<T>,
        range: Range<usize>,
    ) -> Result<Vec<T>> {
        let out = self.ok(
            self.stream.clone_dtoh(&from.slice.slice(range)),
            "copy from the device",
        )?;
        self.wait()?;
        Ok(out)
    }

    /// Starts a copy of the first elements of `range` into `to`, without waiting.
    pub(crate) fn fetch<T: DeviceRepr>(
        &self,
        from: &Buffer<T>,
        range: Range<usize>,
        to: &mut Pinned<T>,
    ) -> Result<()> {
        self.ok(
            self.stream.memcpy_dtoh(&from.slice.slice(range), to),
            "copy from the device",
        )
    }

    /// Waits for the last copy into `p`, and for nothing after it.
    pub(crate) fn fetched<'a, T: ValidAsZeroBits>(&self, p: &'a Pinned<T>) -> Result<&'a [T]> {
        self.ok(p.as_slice(), "decode")
    }

    /// A mark behind everything asked for so far.
    pub(crate) fn mark(&self) -> Result<CudaEvent> {
        self.ok(self.stream.record_event(None), "event")
    }

    /// Waits for `mark`.
    pub(crate) fn reach(&self, mark: &CudaEvent) -> Result<()> {
        self.ok(mark.synchronize(), "wait")
    }

    /// Waits for everything.
    pub(crate) fn wait(&self) -> Result<()> {
        self.ok(self.stream.synchronize(), "wait")
    }

    /// Starts a kernel.
    pub(crate) fn launch(
        &self,
        kernel: &'static str,
        grid: [usize; 3],
        block: u32,
        args: &[Arg],
    ) -> Result<()> {
        let Some(f) = self.kernels.get(kernel) else {
            return Err(Error::Device {
                device: self.name.clone(),
                what: format!("kernel {kernel} was not compiled"),
            });
        };
        let mut b = self.stream.launch_builder(f);
        for a in args {
            match a {
                Arg::Ptr(v) | Arg::U64(v) => b.arg(v),
                Arg::U32(v) => b.arg(v),
                Arg::I32(v) => b.arg(v),
                Arg::F32(v) => b.arg(v),
            };
        }
        let [x, y, z] = grid.map(|g| g as u32);
        let config = LaunchConfig {
            grid_dim: (x, y, z),
            block_dim: (block, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the callers in `forward` and `backend` pass the arguments each kernel's head lists, in
        // order and width, and buffers of the shapes it lists; buffers are freed on this same stream, so
        // after the kernel.
        self.ok(unsafe { b.launch(config) }, kernel).map(|_| ())
    }
}
