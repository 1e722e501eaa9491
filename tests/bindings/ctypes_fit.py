# The library from Python with ctypes alone: no struct, no layout, no generated code.
# Lists the options, sets some, fits, cancels from a callback, reads every result by name, applies
# the model to new data.     usage: ctypes_fit.py LIBTLNMF
import ctypes as c, math, sys

lib, ctx = c.CDLL(sys.argv[1]), c.c_void_p()
GETTERS = {1: ("integer", c.c_int64), 2: ("real", c.c_double), 3: ("text", c.c_char_p)}


def call(name, *arguments, returns=c.c_int):
    getattr(lib, name).restype = returns
    return getattr(lib, name)(*[a.encode() if isinstance(a, str) else a for a in arguments])


def make(name, *arguments):  # every create function writes a handle to its last argument
    out = c.c_void_p()
    if call(name, ctx, *arguments, c.byref(out)):
        sys.exit(call("tlnmf_message", ctx, returns=c.c_char_p).decode())
    return out


def names(function, *of):  # a table by index 0, 1, .. until NULL
    found = (call(function, *of, c.c_size_t(i), returns=c.c_char_p) for i in range(1000))
    return [name.decode() for name in iter(found.__next__, None)]


def value(record, name):
    kind = call("tlnmf_record_type", record, name)
    if kind in GETTERS:
        return call("tlnmf_record_get_" + GETTERS[kind][0], record, name, returns=GETTERS[kind][1])
    if kind == 4:
        return names("tlnmf_record_get_text_at", record, name)
    shape = (c.c_int64 * 4)()
    x = call("tlnmf_record_get_array", record, name, None, shape, returns=c.POINTER(c.c_double))
    return list(shape), x[: math.prod(shape)]


def data(seed, S, M, N):  # Y[s][m][n]
    Y = [math.sin(seed + 0.7 * i * i) for i in range(S * M * N)]
    return make("tlnmf_data_from_realisations", (c.c_double * len(Y))(*Y), (c.c_int64 * 3)(S, M, N))


call("tlnmf_ctx_create", c.byref(ctx))
print(*[(task, names("tlnmf_option_name", task)) for task in names("tlnmf_task_name")], sep="\n")
settings = make("tlnmf_settings_create", "fit")
for option, choice in {"k": "3", "method": "tl", "solver": "paper", "tol": "0"}.items():
    assert call("tlnmf_settings_set_text", ctx, settings, option, choice) == 0
ask = lambda progress, user: value(c.c_void_p(progress), "iteration") >= 7
stop = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p)(ask)  # true stops the run
call("tlnmf_ctx_set_progress", ctx, stop, None)
model = make("tlnmf_fit", data(1, 3, 8, 20), settings, None)
call("tlnmf_ctx_set_progress", ctx, None, None)
results = {name: value(model, name) for name in names("tlnmf_record_name", model)}
assert results["outcome"] == b"cancelled" and results["W"][0] == [8, 3, 1, 1], results
applied = make("tlnmf_apply", model, data(2, 3, 8, 11), make("tlnmf_settings_create", "apply"))
print(len(results), "results, C", results["C"], ", H of new data", value(applied, "H")[0])
