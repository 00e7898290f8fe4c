"""Decompresses the carried rows: python unpack.py FROM TO."""
import lzma, os, shutil, sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path


def one(job):
    src, dst = job
    os.makedirs(os.path.dirname(dst), exist_ok=True)
    if src.endswith(".xz"):
        with lzma.open(src) as f, open(dst[:-3], "wb") as g:
            shutil.copyfileobj(f, g, 1 << 22)
    else:
        shutil.copy(src, dst)


if __name__ == "__main__":
    a, b = Path(sys.argv[1]), Path(sys.argv[2])
    with ProcessPoolExecutor(8) as ex:
        list(ex.map(one, [(str(p), str(b / p.relative_to(a))) for p in sorted(a.rglob("*.npy*"))]))
