"""Doctests, types (mypy), examples, and the wheel: built, installed with pip and by hand, used."""
import doctest
import email
import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

import tlnmf

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "python"


def has(module):
    return importlib.util.find_spec(module) is not None


def run(*command, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TLNMF_LIBRARY")}
    clean.update(environment)
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, cwd="/",
    )  # fmt: skip
    return done.returncode, done.stdout.decode()


class Words(unittest.TestCase):
    def test_doctests(self):
        count = 0
        for module in pkgutil.iter_modules(tlnmf.__path__):
            result = doctest.testmod(importlib.import_module(f"tlnmf.{module.name}"))
            self.assertEqual(result.failed, 0, module.name)
            count += result.attempted
        self.assertGreater(count, 20)

    def test_everything_is_documented(self):
        for name in tlnmf.__all__:
            if not name.startswith("_"):
                self.assertTrue(getattr(tlnmf, name).__doc__, name)

    @unittest.skipUnless(has("mypy"), "no mypy")
    def test_types(self):
        with tempfile.TemporaryDirectory() as cache:
            arguments = ["--config-file", PYTHON / "mypy.ini", "--cache-dir", cache]
            typed = PYTHON / "examples" / "notes.py"
            code, text = run("-m", "mypy", *arguments, PYTHON / "tlnmf", typed, MYPYPATH=str(PYTHON))
        self.assertEqual(code, 0, text)

    def test_examples(self):
        for path in sorted((PYTHON / "examples").glob("*.py")):
            text = path.read_text()
            needs = [m for m in ("mne", "sklearn") if re.search(rf"^(import|from) {m}\b", text, re.M)]
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder:
                if not all(map(has, needs)):
                    print(f"{path.name}: not run, one of {needs} is missing", file=sys.stderr)
                    self.skipTest(f"no {needs}")
                paths = {n: os.environ[n] for n in ("PYTHONPATH", "TLNMF_LIBRARY")}
                code, text = run(path, folder, MPLBACKEND="agg", MPLCONFIGDIR=folder, **paths)
                self.assertEqual(code, 0, text)
                if has("matplotlib"):
                    self.assertTrue(list(Path(folder).glob("*.png")), "no picture")


class Wheel(unittest.TestCase):
    use = ("import tlnmf; m = tlnmf.fit(tlnmf.simulate.gcm().Y, 2); print(tlnmf.__file__); "
           "import tempfile, os; d = tempfile.mkdtemp(); m.save(d + '/m.h5'); tlnmf.load(d + '/m.h5')")  # fmt: skip

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.build = {"TLNMF_BUILD": os.environ["TLNMF_LIBRARY"]}

    def use_from(self, path):
        code, text = run("-c", self.use, PYTHONPATH=str(path))
        self.assertEqual(code, 0, text)
        self.assertTrue(text.startswith(str(path)), text)

    def starts(self, script):
        """The installed program starts, and writes a file with the libraries of the wheel."""
        done = subprocess.run(
            [str(script), "simulate", "gcm", "-o", f"{self.folder.name}/y.h5"],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(script.parents[1])},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(Path(f"{self.folder.name}/y.h5").exists())

    def wheel(self, **environment):
        environment = {**self.build, **environment}
        code, text = run(PYTHON / "backend.py", "wheel", self.folder.name, **environment)
        self.assertEqual(code, 0, text)
        return Path(text.strip().splitlines()[-1])

    def test_carries_the_library(self):
        wheel = self.wheel()
        self.assertIn("linux", wheel.name)
        self.assertIn(tlnmf.__version__, wheel.name)
        target = Path(self.folder.name) / "site"
        with zipfile.ZipFile(wheel) as content:
            content.extractall(target)
            text = b"".join(content.read(n) for n in content.namelist())
            info = f"tlnmf-{tlnmf.__version__}.dist-info"
            self.assertEqual(content.read(f"{info}/LICENSE.uPlot"), (ROOT / "report/vendor/LICENSE.uPlot").read_bytes())
            self.assertIn(b"License-File: LICENSE.uPlot\n", content.read(f"{info}/METADATA"))
        self.assertNotIn(self.build["TLNMF_BUILD"].encode(), text)  # no path of the build
        self.use_from(target)

    def test_carries_all_libraries(self):
        wheel = self.wheel(TLNMF_BUNDLE="all")
        target = Path(self.folder.name) / "site"
        with zipfile.ZipFile(wheel) as content:
            content.extractall(target)
            names = [Path(n).name for n in content.namelist()]
        if shutil.which("dpkg") and Path("/usr/share/doc/libsndfile1/copyright").exists():
            self.assertLessEqual({"LICENSE", "LICENSE.uPlot", "LICENSE.libsndfile1", "LICENSE.LGPL-2.1"}, set(names))
            self.assertTrue([name for name in names if re.match(r"LICENSE\.libhdf5", name)], names)
        self.use_from(target)
        loaded = self.use + "; print(open('/proc/self/maps').read())"
        _, text = run("-c", loaded, PYTHONPATH=str(target))
        for name in ("libhdf5", "liblapacke", "libsndfile"):
            places = {line.split()[-1] for line in text.splitlines() if name in line}
            self.assertTrue(places and all(str(target) in p for p in places), (name, places))

    @unittest.skipUnless(has("pip"), "no pip")
    def test_pip_without_network(self):
        target = Path(self.folder.name) / "site"
        code, text = run("-m", "pip", "install", "--no-index", "--no-deps", "--target", target,
                         "--disable-pip-version-check", PYTHON, **self.build)  # fmt: skip
        self.assertEqual(code, 0, text)
        self.use_from(target)
        self.starts(target / "bin" / "tlnmf")

    def clone(self):
        """A copy of the sources without a build folder."""
        copy = Path(self.folder.name) / "clone"
        for name in ("python", "include", "cmake"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "_lib"))
        (copy / "report" / "vendor").mkdir(parents=True)
        for name in ("CMakeLists.txt", "LICENSE", "report/vendor/LICENSE.uPlot"):
            shutil.copy(ROOT / name, copy / name)
        return copy

    def test_fresh_clone_calls_cmake(self):
        copy = self.clone()
        tools = Path(self.folder.name) / "bin"
        tools.mkdir()
        log = tools / "log"
        script = f'#!/bin/sh\necho "$@" >>{log}\n[ "$1" != -S ] || : >"$4/CMakeCache.txt"\n'
        (tools / "cmake").write_text(script)
        (tools / "cmake").chmod(0o755)
        path = f"{tools}:{os.environ['PATH']}"
        code, text = run(copy / "python" / "backend.py", "wheel", self.folder.name, PATH=path,
                         CMAKE_ARGS="-DTLNMF_HDF5=OFF -DX='a b'")  # fmt: skip
        self.assertEqual(code, 1, text)  # this cmake builds nothing
        self.assertIn("does not contain libtlnmf.so", text)
        calls = log.read_text().splitlines()
        self.assertIn("-DTLNMF_BUILD_TESTS=OFF", calls[0])
        self.assertTrue(calls[0].endswith("-DTLNMF_HDF5=OFF -DX=a b"), calls[0])
        self.assertTrue(calls[1].endswith("--target tlnmf_shared"), calls[1])
        self.assertIn("--component libraries", calls[2])
        self.assertFalse(list(Path(self.folder.name).glob("*.whl")))

    def test_failures_say_what_to_do(self):
        backend = self.clone() / "python" / "backend.py"
        for expected, environment in {
            "cmake is missing": {"PATH": "/nowhere"},
            "messages of CMake are above": {"CMAKE_ARGS": "-DTLNMF_MATIO=ON -DTLNMF_HDF5=OFF"},
            "/nowhere does not contain": {"TLNMF_BUILD": "/nowhere", "TLNMF_BUNDLE": "all"},
            "TLNMF_BUNDLE is 'everything'": {"TLNMF_BUNDLE": "everything"},
        }.items():
            code, text = run(backend, "wheel", self.folder.name, **environment)
            self.assertEqual(code, 1, text)
            self.assertIn(expected, text)
            self.assertIn("TLNMF_BUNDLE", text)
            self.assertFalse(list(Path(self.folder.name).glob("*.whl")), expected)

    def test_without_libraries(self):
        wheel = self.wheel(TLNMF_BUNDLE="none", TLNMF_BUILD="/nowhere")
        self.assertTrue(wheel.name.endswith("py3-none-any.whl"))
        with zipfile.ZipFile(wheel) as content:
            self.assertFalse([n for n in content.namelist() if "_lib/" in n or "entry_points" in n])
            info = f"tlnmf-{tlnmf.__version__}.dist-info"
            metadata = email.message_from_bytes(content.read(f"{info}/METADATA"))
            licence = content.read(f"{info}/LICENSE")
        self.assertEqual(licence, (ROOT / "LICENSE").read_bytes())
        self.assertEqual((metadata["Author"], metadata["License"]), ("The tlnmf authors", "BSD-3-Clause"))
        self.assertIn("transform-learning NMF", metadata.get_payload())

    def test_install_for_the_user(self):
        home = Path(self.folder.name) / "home"
        code, text = run(PYTHON / "backend.py", "install", PYTHONUSERBASE=str(home), **self.build)
        self.assertEqual(code, 0, text)
        code, text = run("-c", self.use, PYTHONUSERBASE=str(home))
        self.assertEqual(code, 0, text)
        self.assertTrue(text.startswith(str(home)), text)
        site = Path(text.split("/tlnmf/__init__")[0])
        code, text = run(home / "bin" / "tlnmf", "--version", PYTHONUSERBASE=str(home))
        self.assertEqual((code, tlnmf.__version__ in text), (0, True), text)
        self.assertTrue((site / "tlnmf_program.py").exists())

    def test_install_without_the_program(self):
        """It removes the script of an earlier installation, but not a program that is no such script."""
        home = Path(self.folder.name) / "home"
        script = home / "bin" / "tlnmf"
        install = [PYTHON / "backend.py", "install"]
        code, text = run(*install, PYTHONUSERBASE=str(home), **self.build)
        self.assertEqual((code, script.exists()), (0, True), text)
        for present in (False, True):
            code, text = run(*install, PYTHONUSERBASE=str(home), TLNMF_BUNDLE="none")
            self.assertEqual((code, script.exists()), (0, present), text)
            self.assertFalse(list(home.rglob("tlnmf_program.py")))
            script.write_text("another program")

    def test_source_package(self):
        """It has all modules, and a wheel can be built from it."""
        copy = self.clone()
        for name in ("_lib", "__pycache__"):  # of an editable installation
            (copy / "python" / "tlnmf" / name).mkdir()
        make = "import sys, backend; print(backend.build_sdist(sys.argv[1]))"
        code, text = run("-B", "-c", make, self.folder.name, PYTHONPATH=str(copy / "python"))
        self.assertEqual(code, 0, text)
        with tarfile.open(Path(self.folder.name) / text.strip()) as archive:
            archive.extractall(self.folder.name)
        source = Path(self.folder.name) / text.strip()[: -len(".tar.gz")]
        modules = {path.name for path in (PYTHON / "tlnmf").glob("*.py")}
        self.assertEqual(modules, {path.name for path in (source / "tlnmf").glob("*.py")})
        self.assertFalse([name for name in ("_lib", "__pycache__") if (source / "tlnmf" / name).exists()])
        library = {"TLNMF_LIBRARY": self.build["TLNMF_BUILD"]}
        code, text = run("-c", self.use, PYTHONPATH=str(source), **library)
        self.assertEqual(code, 0, text)
        self.assertTrue(text.startswith(str(source)), text)
        code, text = run(source / "backend.py", "wheel", self.folder.name, TLNMF_BUNDLE="none")
        self.assertEqual(code, 0, text)
        target = Path(self.folder.name) / "site"
        with zipfile.ZipFile(text.strip()) as content:
            content.extractall(target)
        code, text = run("-c", self.use, PYTHONPATH=str(target), **library)
        self.assertEqual(code, 0, text)

    def test_message_for_a_missing_library(self):
        code, text = run("-c", "import tlnmf", PYTHONPATH=str(PYTHON), TLNMF_LIBRARY="/nowhere")
        self.assertEqual(code, 1)
        self.assertIn("TLNMF_LIBRARY", text)


if __name__ == "__main__":
    unittest.main()
