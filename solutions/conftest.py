"""`pytest --nbval solutions/` runs every stored output again: as `qkv build` ran it, and in nobody's name."""

import os

os.environ["QKV_PROGRESS"] = "off"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
