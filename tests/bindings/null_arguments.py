# Calls every function of the public headers with NULL for each of its pointers in turn: it returns
# TLNMF_ERR_ARGUMENT, or the empty value of its type, and never crashes. New functions are tested
# automatically, unless they have a new kind of parameter.
# usage: null_arguments.py LIBTLNMF [LIBTLNMF_IO]
import ctypes as c
import faulthandler
import math
import os
import re
import sys
import tempfile

faulthandler.enable()
HERE = os.path.dirname(os.path.abspath(__file__))
ERR_ARGUMENT = 8
HANDLE = c.c_void_p
RETURNS = {
    "void": None,
    "size_t": c.c_size_t,
    "int64_t": c.c_int64,
    "double": c.c_double,
    "const char *": c.c_char_p,
}
NUMBERS = {"size_t": c.c_size_t, "int64_t": c.c_int64, "int32_t": c.c_int32, "double": c.c_double}
NUMBERS["uint64_t"] = c.c_uint64
SHAPE = {"tlnmf_score": (1, 600, 1), "tlnmf_data_from_covariances": (2, 2, 2)}
VALUES = {  # of numbers, by the name of the parameter
    "B": 2, "M": 4, "N": 3, "S": 1, "channels": 1, "count": 1, "dimensions": 3, "end": 0.5, "eps": 0.1,
    "iterations": 2, "length": 600, "rank": 3, "rate": 1000, "size": 64, "t": 1, "value": 1,
}  # fmt: skip
WORDS = {"task": b"fit", "stage": b"read", "kind": b"dct", "name": b"k", "value": b"3", "text": b"a text",
         "what": b"array", "word": b"seeds", "json": b'{"figures": []}'}


class Function:
    def __init__(self, declaration):
        head, inside = declaration.split("(", 1)
        self.returns, self.name = re.match(r"(.*?)\s*(\w+)$", head).groups()
        inside = inside.rsplit(")", 1)[0]
        # a function pointer contains commas
        parts = re.findall(r"(?:[^,(]|\([^)]*\))+", inside)
        self.parameters = [split(p.strip()) for p in parts if p.strip() != "void"]


def split(parameter):
    """Type and name: "const double *x" -> ("const double *", "x")."""
    function = re.match(r"void \(\*(\w+)\)", parameter)
    if function:
        return "function", function.group(1)
    kind, name, array = re.match(r"(.*?)(\w+)(\[\d*\])?$", parameter).groups()
    return kind.strip() + (" *" if array else ""), name


def functions_of(*headers):
    text = "".join(open(f"{HERE}/../../include/tlnmf/{h}.h").read() for h in headers)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^\s*#.*$", " ", text, flags=re.M)
    return [Function(" ".join(d.split())) for d in re.findall(r"TLNMF_API ([^;]*);", text)]


def callback(kind, name):
    """A callback that does nothing, or a working allocator."""
    if kind == "tlnmf_allocate_fn":
        libc = c.CDLL(None)
        libc.malloc.restype = HANDLE
        return c.CFUNCTYPE(HANDLE, c.c_size_t, HANDLE)(lambda size, user: libc.malloc(c.c_size_t(size)))
    if kind == "tlnmf_release_fn":
        libc = c.CDLL(None)
        return c.CFUNCTYPE(None, HANDLE, HANDLE)(lambda block, user: libc.free(HANDLE(block)) and None)
    if kind == "tlnmf_read_fn":
        return c.CFUNCTYPE(c.c_int, c.c_int64, c.c_int64, c.POINTER(c.c_double), HANDLE)(
            lambda first, count, x, user: 0
        )
    if kind in ("tlnmf_sum_fn", "tlnmf_io_next_fn"):
        return c.CFUNCTYPE(c.c_int, c.POINTER(c.c_double), c.c_int64, HANDLE)(lambda x, n, user: 0)
    if kind == "tlnmf_broadcast_fn":
        return c.CFUNCTYPE(c.c_int, c.POINTER(c.c_double), c.c_int64, c.c_int32, HANDLE)(
            lambda x, n, root, user: 0
        )
    if kind == "tlnmf_piece_fn":
        return c.CFUNCTYPE(None, c.c_int64, HANDLE)(lambda i, user: None)
    if kind == "function" and name == "close":
        return c.CFUNCTYPE(None, HANDLE)(lambda user: None)
    return None  # of all others NULL is allowed


class World:
    """Valid arguments for every parameter."""

    def __init__(self, core, io):
        self.core, self.io = core, io
        self.folder = tempfile.TemporaryDirectory()
        self.keep = []
        self.ctx = HANDLE()
        core.tlnmf_ctx_create(c.byref(self.ctx))
        self.x = (c.c_double * 4096)(*[math.sin(0.3 * i) + 0.3 * math.cos(1.1 * i) for i in range(4096)])
        self.data = self.make("tlnmf_data_from_realisations", self.x, (c.c_int64 * 3)(2, 4, 9))
        self.fitted = self.make("tlnmf_fit", self.data, self.settings("fit"), None)
        self.sound = self.make(
            "tlnmf_sound_from_array", self.x, c.c_int64(600), c.c_int64(1), c.c_double(1000)
        )
        for name, start, end in ((b"a", 0.0, 0.3), (b"b", 0.3, 0.6)):
            core.tlnmf_sound_add_label(self.ctx, self.sound, name, c.c_double(start), c.c_double(end))
        self.separation = self.make("tlnmf_learn_sources", self.sound, self.settings("learn"))
        self.report = self.make(
            "tlnmf_separate", self.separation, self.sound, self.settings("separate"), None, None
        )
        self.events = self.make("tlnmf_activations", self.separation, self.sound, self.report)
        self.track = self.label_track()

    def make(self, name, *arguments):
        out = HANDLE()
        library = self.io if name.startswith("tlnmf_io") else self.core
        if getattr(library, name)(self.ctx, *arguments, c.byref(out)) != 0:
            self.core.tlnmf_message.restype = c.c_char_p
            sys.exit(f"{name}: {self.core.tlnmf_message(self.ctx).decode()}")
        return out

    def settings(self, task):
        options = {
            "fit": {"k": "2", "J": "2"},
            "frames": {"frame": "16"},
            "separate": {"keep-h": "1"},
            "learn": {"frame": "16", "method": "nmf", "per-source": "1", "transform": "dct",
                         "window": "sine"},
        }  # fmt: skip
        settings = self.make("tlnmf_settings_create", task.encode())
        for name, value in options.get(task, {}).items():
            self.core.tlnmf_settings_set_text(self.ctx, settings, name.encode(), value.encode())
        return settings

    def label_track(self):
        track = self.make("tlnmf_record_create")
        for name, value in (("start", 0.0), ("end", 0.5)):
            self.core.tlnmf_record_set_array(
                self.ctx, track, name.encode(), (c.c_double * 1)(value), 1, (c.c_int64 * 1)(1)
            )
        for name in (b"name", b"names"):
            self.core.tlnmf_record_set_texts(self.ctx, track, name, (c.c_char_p * 1)(b"a"), c.c_size_t(1))
        return track

    def task_of(self, function):
        tasks = {"tlnmf_diagonalise": "jd", "tlnmf_apply": "apply", "tlnmf_likelihood": "apply", "tlnmf_applier_create": "apply", "tlnmf_score": "score",
                 "tlnmf_simulate_gcm": "gcm"}  # fmt: skip
        for start, task in (("tlnmf_frames", "frames"), ("tlnmf_learn_sources", "learn"),
                            ("tlnmf_separate", "separate")):  # fmt: skip
            if function.startswith(start):
                return task
        return tasks.get(function, "fit")

    def record(self, function, name):
        if name == "record" and not function.startswith("tlnmf_record"):
            return self.make("tlnmf_record_create")  # to be written to
        special = {"report": self.report, "events": self.events, "track": self.track,
                   "names": self.track}  # fmt: skip
        of_sound = re.match(r"tlnmf_(separate|activations|io_write_(labels|midi))", function)
        return special.get(name, self.separation if of_sound else self.fitted)

    def text(self, function, name):
        if name in ("path", "spec"):
            self.keep.append(f"{self.folder.name}/{len(self.keep)}".encode())
            if "write" not in function:
                return self.input_file(function)
            return self.keep[-1] + (b".wav" if "writer" in function else b"")
        if function.startswith("tlnmf_settings") and name == "name":
            return b"k"
        return WORDS[name]

    def input_file(self, function):
        """A file that the function can read."""
        path = self.keep[-1]
        if "model" in function:
            self.io.tlnmf_io_write_model(self.ctx, path, self.fitted)
        elif "labels" in function:
            open(path, "w").write("0\t1\ta\n")
        elif "sound" in function:
            path += b".wav"
            writer = self.make("tlnmf_io_writer_create", path, self.sound)
            self.io.tlnmf_io_writer_append(self.ctx, writer, self.x, c.c_int64(600))
            self.io.tlnmf_io_writer_commit(self.ctx, writer)
        else:
            path += b".npy"
            self.io.tlnmf_io_write_array(self.ctx, path, self.x, 1, (c.c_int64 * 1)(5))
        return path

    def good(self, function, kind, name):
        """A valid argument for the function."""
        if name.endswith("_or_null") or name == "user":
            return None
        if kind in NUMBERS:
            return NUMBERS[kind](VALUES.get(name, 0))
        if kind == "tlnmf_sound *" and function == "tlnmf_sound_own":
            return self.make(
                "tlnmf_sound_from_array", self.x, c.c_int64(9), c.c_int64(1), c.c_double(1)
            )
        if re.fullmatch(r"(const )?tlnmf_(ctx|data|sound) \*", kind):
            return getattr(self, re.search(r"tlnmf_(\w+)", kind).group(1))
        if kind == "tlnmf_applier *":
            return self.make("tlnmf_applier_create", self.fitted, self.settings("apply"))
        if kind == "tlnmf_comm *":
            self.keep += [callback("tlnmf_sum_fn", ""), callback("tlnmf_broadcast_fn", "")]
            return self.make("tlnmf_comm_create", 1, 0, self.keep[-2], self.keep[-1], None)
        if re.fullmatch(r"(const )?tlnmf_record \*", kind):
            return self.record(function, name)
        if re.fullmatch(r"(const )?tlnmf_settings \*", kind):
            return self.settings(self.task_of(function))
        if re.fullmatch(r"(const )?tlnmf_io_writer \*", kind):
            self.keep.append(f"{self.folder.name}/{len(self.keep)}.wav".encode())
            return self.make("tlnmf_io_writer_create", self.keep[-1], self.sound)
        if kind == "const char *":
            return self.text(function, name)
        if kind == "const char *const *":
            return (c.c_char_p * 1)(b"a")
        if kind == "const int64_t *":
            return (c.c_int64 * 4)(*SHAPE.get(function, (2, 4, 9)))
        if kind == "const double *":
            if function == "tlnmf_data_from_covariances":
                return (c.c_double * 8)(1, 0, 0, 1, 1, 0, 0, 1)
            return self.x
        if kind == "const void *":
            return self.packed()
        if kind.startswith("tlnmf_") and kind.endswith("**") or kind == "double **":
            return c.pointer(HANDLE(1))
        if kind in ("double *", "int64_t *", "size_t *", "char *", "void *", "int32_t *"):
            buffer = (c.c_double * 65536)()
            if kind == "size_t *":
                buffer = (c.c_size_t * 1)(65536 * 8)
            elif kind == "double *" and name == "Phi":  # replaced in place: must be orthogonal
                buffer[0] = buffer[5] = buffer[10] = buffer[15] = 1.0
            return buffer
        if kind.startswith("tlnmf_") or kind == "function":
            function = callback(kind, name)
            self.keep.append(function)
            return function if function is not None else c.c_int(0)
        sys.exit(f"{function}: what is a good {kind} {name}?")

    def packed(self):
        size = (c.c_size_t * 1)(0)
        self.core.tlnmf_record_pack(self.ctx, self.fitted, None, size)
        bytes_ = (c.c_char * size[0])()
        self.core.tlnmf_record_pack(self.ctx, self.fitted, bytes_, size)
        return bytes_


def is_pointer(kind, name):
    if name.endswith("_or_null") or name == "user":
        return False
    return kind.endswith("*") or kind == "function" or kind in (
        "tlnmf_allocate_fn", "tlnmf_release_fn", "tlnmf_read_fn", "tlnmf_sum_fn", "tlnmf_broadcast_fn",
        "tlnmf_piece_fn")  # fmt: skip


def is_nothing(returns, value):
    if returns == "tlnmf_error":
        return value == ERR_ARGUMENT
    if returns == "void":
        return True
    if returns == "int64_t":
        return value == -(2**63)
    if returns == "double":
        return math.isnan(value)
    return value in (None, 0, b"", b"unknown")


def main():
    core = c.CDLL(sys.argv[1], mode=c.RTLD_GLOBAL)
    io = c.CDLL(sys.argv[2]) if len(sys.argv) > 2 else None
    world = World(core, io)
    found = [(core, f) for f in functions_of("tlnmf", "sound", "paper")]
    found += [(io, f) for f in functions_of("io")] if io else []
    wrong, calls = [], 0
    for library, f in found:
        try:
            function = getattr(library, f.name)
        except AttributeError:
            wrong.append(f"{f.name} is declared, but not there")
            continue
        pointer = f.returns.endswith("*") and f.returns != "const char *"
        function.restype = HANDLE if pointer else RETURNS.get(f.returns, c.c_int)
        arguments = [world.good(f.name, *p) for p in f.parameters]
        if f.returns == "tlnmf_error" and function(*arguments) == ERR_ARGUMENT:
            core.tlnmf_message.restype = c.c_char_p
            wrong.append(f"{f.name} refuses good arguments: {core.tlnmf_message(world.ctx)}")
        for i, (kind, name) in enumerate(f.parameters):
            if not is_pointer(kind, name):
                continue
            print(f.name, name, flush=True)
            arguments = [world.good(f.name, *p) for p in f.parameters]
            arguments[i] = None
            value = function(*arguments)
            calls += 1
            if not is_nothing(f.returns, value):
                wrong.append(f"{f.name} answers {value} if {name} is NULL")
            for (k, n), out in zip(f.parameters, arguments):
                if k.endswith("**") and out is not None and f.returns == "tlnmf_error" and out[0]:
                    wrong.append(f"{f.name} leaves *{n} as it was if {name} is NULL")
    print(f"{len(found)} functions, {calls} calls with a NULL")
    sys.exit("\n".join(wrong) if wrong else 0)


main()
