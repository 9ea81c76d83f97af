"""Serves a model on loopback with llama.cpp's own server until it is stopped: `serve.py MODEL PORT CONTEXT`."""

import pathlib
import signal
import sys

import xllamacpp

model, port, context = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
params = xllamacpp.CommonParams()
params.model.path = model
params.model_alias = {pathlib.Path(model).stem}
params.hostnames = ["127.0.0.1"]
params.port = port
params.n_ctx = context
params.n_parallel = 1
params.cache_ram_mib = 0  # its default is 8 GiB
params.sampling.seed = 1
params.ui = False
params.offline = True
# Two threads wait for each other by spinning, and crawl where other work has the cores.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
signal.pause()  # until one comes that ends the process
