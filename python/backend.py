"""Builds the wheel of tlnmf with the standard library alone, so that installing needs no network.

pip calls build_wheel (PEP 517) and build_editable (PEP 660). By hand:

    python3 backend.py wheel DIR     a wheel in DIR
    python3 backend.py install       unpacks a wheel for this user, or into the active environment

The wheel carries libtlnmf, libtlnmf_io and the program. They come from the build folder that TLNMF_BUILD
names, or from ../build; CMake builds what is missing or out of date. If there is no such folder, CMake
builds them in a temporary one, with the options in CMAKE_ARGS.

TLNMF_BUNDLE=all also carries their dependencies (BLAS, HDF5, ..) except those of the C library.
TLNMF_BUNDLE=none carries neither libraries nor the program: the package uses those of the system.
"""
import base64
import csv
import hashlib
import io
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "tlnmf"
PROGRAM = f"{NAME}/_lib/tlnmf"  # in the wheel
BASE = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|resolv|gcc_s))\.so")
METADATA = """Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: Transform-learning nonnegative matrix factorisation and joint diagonalisation
Author: The tlnmf authors
License: BSD-3-Clause
{files}Classifier: License :: OSI Approved :: BSD License
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: Scientific/Engineering
Requires-Python: >=3.8
Requires-Dist: numpy>=1.21
Description-Content-Type: text/markdown

tlnmf learns an orthogonal transform Phi and a nonnegative factorisation W H together, such that the
power of Phi Y is close to W H (transform-learning NMF). It also diagonalises covariances jointly,
factorises power spectrograms (Itakura-Saito NMF) and separates recordings into sources. Functions
work on numpy arrays; `TLNMF`, `JDNMF`, `ISNMF` and `JointDiagonalizer` follow scikit-learn.
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: tlnmf\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"


def version():
    """The version of the header, or of PKG-INFO if only the package was unpacked."""
    header = HERE.parent / "include" / "tlnmf" / "tlnmf.h"
    if header.exists():
        return ".".join(re.findall(r"define TLNMF_VERSION_[A-Z]+ +(\d+)", header.read_text()))
    return re.search(r"Version: (.*)", (HERE / "PKG-INFO").read_text()).group(1)


def abi():
    """The number in the names of the libraries, as `_library.py` finds it."""
    header = HERE.parent / "include" / "tlnmf" / "tlnmf.h"
    if header.exists():
        return re.search(r"define TLNMF_ABI +(\d+)", header.read_text()).group(1)
    return (HERE / NAME / "ABI").read_text().strip()


def licences(with_libraries):
    """Our licence, and that of uPlot, which libtlnmf_io writes into report pages: file names and contents.

    They are in the repository, or in an unpacked source package.
    """
    found = {}
    for path in ("LICENSE", "report/vendor/LICENSE.uPlot") if with_libraries else ("LICENSE",):
        places = [HERE.parent / path, HERE / Path(path).name]
        found[Path(path).name] = next(place for place in places if place.exists()).read_bytes()
    return found


def metadata(names):
    """The description of the package; `names` are the files with its licences."""
    files = "".join(f"License-File: {name}\n" for name in sorted(names))
    return METADATA.format(name=NAME, version=version(), files=files).encode()


# ---- the libraries ------------------------------------------------------------------------------


def soname(name):
    return f"lib{name}.so.{abi()}"


def carried():
    """The files that a build adds to the wheel, if it has them: both libraries and the program."""
    return soname("tlnmf"), soname("tlnmf_io"), "tlnmf"


def fail(what):
    sys.exit(
        f"tlnmf: {what}.\nInstall the packages that docs/install.md lists (`./run --install python` "
        "does, on Debian) and try again. Or set\n"
        "  TLNMF_BUILD=FOLDER        to use the libraries of a build folder\n"
        "  CMAKE_ARGS=OPTIONS        for the build, such as -DTLNMF_HDF5=OFF\n"
        "  TLNMF_BUNDLE=none         if the libraries are installed on the system"
    )


def cmake(*arguments):
    """Runs CMake; its output is shown only if it fails."""
    if not shutil.which("cmake"):
        fail("cmake is missing, which builds the libraries")
    done = subprocess.run(
        ["cmake", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        sys.stderr.write(done.stdout.decode(errors="replace")[-4000:])
        fail("the libraries could not be built; the messages of CMake are above")


def configured(build):
    """Whether a folder is a build folder of these sources."""
    cache = build / "CMakeCache.txt"
    if not (build / "cmake_install.cmake").exists() or not cache.exists():
        return False
    home = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache.read_text(), re.M)
    return home is not None and Path(home.group(1)).resolve() == HERE.parent


def option(build, name):
    """Whether an option of the build is on."""
    cache = (build / "CMakeCache.txt").read_text()
    return bool(re.search(rf"^{name}:BOOL=(ON|1|TRUE|YES)$", cache, re.M | re.I))


def copy_built(build, folder):
    """Builds what the wheel carries, and copies it as `cmake --install` creates it: stripped."""
    targets, components = ["tlnmf_shared"], ["libraries"]
    if option(build, "TLNMF_BUILD_IO"):
        targets.append("tlnmf_io_shared")
        if option(build, "TLNMF_BUILD_PROGRAM") and option(build, "TLNMF_HDF5"):
            targets += ["tlnmf", "man"]
            components.append("program")
    cmake("--build", build, "-j", os.cpu_count() or 1, "--target", *targets)
    with tempfile.TemporaryDirectory() as prefix:
        for component in components:
            cmake("--install", build, "--prefix", prefix, "--component", component, "--strip")
        for path in Path(prefix).rglob("*"):
            if path.name in carried() and path.is_file() and "share" not in path.relative_to(prefix).parts:
                shutil.copy(path, folder / path.name)


def copy_libraries(folder):
    """Fills `folder` with the libraries and the program, from a build folder or a new build."""
    named = os.environ.get("TLNMF_BUILD")
    build = Path(named or HERE.parent / "build").resolve()
    if configured(build):
        copy_built(build, folder)
    elif named:  # the libraries of an installation, or of a build that was moved
        for name in carried():
            if (build / name).exists():
                shutil.copy(build / name, folder / name)
    elif (HERE.parent / "CMakeLists.txt").exists():
        with tempfile.TemporaryDirectory() as scratch:
            options = shlex.split(os.environ.get("CMAKE_ARGS", ""))
            cmake("-S", HERE.parent, "-B", scratch, "-DTLNMF_BUILD_TESTS=OFF", "-DBUILD_SHARED_LIBS=ON", *options)
            copy_built(Path(scratch), folder)
    else:
        fail("this source package has no libraries: build it from a clone of the repository")
    if not (folder / soname("tlnmf")).exists():
        fail(f"{build} does not contain {soname('tlnmf')}")


def needed(path):
    """All dependencies of a file, direct and indirect: names and paths."""
    listed = subprocess.run(["ldd", str(path)], stdout=subprocess.PIPE, check=True).stdout.decode()
    found = dict(re.findall(r"(\S+) => (/\S+)", listed))
    return {name: place for name, place in found.items() if not BASE.match(name) and name not in carried()}


def bundle(file):
    """Copies the dependencies of a file, and lists them in the order in which Python loads them."""
    places = needed(file)
    order = sorted(places, key=lambda n: (len(needed(places[n])), n))  # fewest dependencies first
    for other in order:
        if not (file.parent / other).exists():  # may be there for another file
            shutil.copy(places[other], file.parent / other)
    if file.name != "tlnmf":
        file.with_name(f"{file.name}.order").write_text("\n".join(order) + "\n")


def owner(path):
    """The Debian package of a file, or None."""
    if not shutil.which("dpkg"):
        return None
    real = os.path.realpath(path)
    for name in (real, re.sub("^/usr", "", real), f"/usr{real}"):  # /lib may be a link to /usr/lib
        done = subprocess.run(["dpkg", "-S", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            return re.split("[:,]", done.stdout.decode())[0]
    return None


def licences_of(places):
    """The copyright files of bundled libraries, and the licences to which they refer, as Debian has them."""
    found, unknown = {}, []
    for place in sorted(places):
        package = owner(place)
        path = Path(f"/usr/share/doc/{package}/copyright")
        if package is None or not path.exists():
            unknown.append(Path(place).name)
            continue
        found[f"LICENSE.{package}"] = text = path.read_bytes()
        for name in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text.decode(errors="replace")):
            common = Path("/usr/share/common-licenses", name)
            if common.exists():
                found[f"LICENSE.{name}"] = common.read_bytes()
    if unknown:
        print(f"tlnmf: the wheel lacks the licences of {', '.join(sorted(unknown))}", file=sys.stderr)
    return found


def libraries(folder):
    """Fills `folder` with the libraries and the program of the wheel.

    Returns the licences of what it adds to the package; None if it adds nothing.
    """
    wanted = os.environ.get("TLNMF_BUNDLE", "")
    if wanted not in ("", "all", "none"):
        sys.exit(f"tlnmf: TLNMF_BUNDLE is {wanted!r}; it must be all, none, or not set")
    if wanted == "none":
        return None
    copy_libraries(folder)
    found = licences(True)
    if wanted == "all":
        files = [folder / name for name in carried() if (folder / name).exists()]
        found.update(licences_of({place for file in files for place in needed(file).values()}))
        for file in files:
            bundle(file)
    return found


# ---- the wheel ----------------------------------------------------------------------------------


def write_wheel(directory, files, tag, pure, program, texts):
    """A zip file of the files (name in the wheel, bytes), their description, and the texts of licences."""
    info = f"{NAME}-{version()}.dist-info"
    files = dict(files)
    if f"{NAME}/__init__.py" in files:
        files[f"{NAME}/ABI"] = f"{abi()}\n".encode()
    files[f"{info}/METADATA"] = metadata(texts)
    files.update({f"{info}/{name}": text for name, text in texts.items()})
    files[f"{info}/WHEEL"] = WHEEL.format(pure=str(pure).lower(), tag=tag).encode()
    if program:
        files[f"{info}/entry_points.txt"] = b"[console_scripts]\ntlnmf = tlnmf_program:main\n"
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    for name, content in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        writer.writerow([name, f"sha256={digest}", len(content)])
    writer.writerow([f"{info}/RECORD", "", ""])
    files[f"{info}/RECORD"] = rows.getvalue().encode()
    path = Path(directory) / f"{NAME}-{version()}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same bytes every time
            mode = stat.S_IFREG | (0o755 if name == PROGRAM else 0o644)  # pip copies the mode of files
            entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return path.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = HERE / NAME
    files = {
        f"{NAME}/{path.name}": path.read_bytes()
        for path in sorted(package.iterdir())
        if path.suffix in (".py", ".typed")
    }
    with tempfile.TemporaryDirectory() as folder:
        found = libraries(Path(folder))
        for path in Path(folder).iterdir():
            files[f"{NAME}/_lib/{path.name}"] = path.read_bytes()
    if PROGRAM in files:
        files["tlnmf_program.py"] = (HERE / "tlnmf_program.py").read_bytes()
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag = f"py3-none-{platform}" if found else "py3-none-any"
    return write_wheel(wheel_directory, files, tag, not found, PROGRAM in files, found or licences(False))


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The package stays in this folder; its libraries and the program go to tlnmf/_lib."""
    shutil.rmtree(HERE / NAME / "_lib", ignore_errors=True)
    (HERE / NAME / "_lib").mkdir()
    found = libraries(HERE / NAME / "_lib")
    files = {f"{NAME}.pth": f"{HERE}\n".encode()}
    program = (HERE / PROGRAM).exists()
    return write_wheel(wheel_directory, files, "py3-none-any", True, program, found or licences(False))


def build_sdist(sdist_directory, config_settings=None):
    root = f"{NAME}-{version()}"
    with tarfile.open(Path(sdist_directory) / f"{root}.tar.gz", "w:gz") as archive:
        for name in ("backend.py", "pyproject.toml", "tlnmf_program.py", NAME):
            archive.add(HERE / name, f"{root}/{name}", filter=_source_only)
        texts = licences(True)
        added = {"PKG-INFO": metadata(texts), f"{NAME}/ABI": f"{abi()}\n".encode(), **texts}
        for name, content in added.items():
            entry = tarfile.TarInfo(f"{root}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return f"{root}.tar.gz"


def _source_only(entry):
    return None if {"__pycache__", "_lib"} & set(Path(entry.name).parts) else entry


def install():
    """Unpacks a wheel into this Python's packages, and removes an earlier version."""
    in_environment = sys.prefix != sys.base_prefix
    scheme = sysconfig.get_paths() if in_environment else sysconfig.get_paths("posix_user")
    target, scripts = Path(scheme["purelib"]), Path(scheme["scripts"])
    script = scripts / "tlnmf"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        name = build_wheel(folder)
        for old in [target / NAME, *target.glob(f"{NAME}-*.dist-info")]:
            shutil.rmtree(old, ignore_errors=True)
        # The new wheel may lack the program. A script of another kind, such as the program itself, stays.
        for old in (target / "tlnmf_program.py", script):
            if old.is_file() and (old != script or b"tlnmf_program" in script.read_bytes()):
                old.unlink()
        with zipfile.ZipFile(Path(folder) / name) as wheel:
            wheel.extractall(target)
    if (target / PROGRAM).exists():
        (target / PROGRAM).chmod(0o755)
        scripts.mkdir(parents=True, exist_ok=True)
        script.write_text(f"#!{sys.executable}\nfrom tlnmf_program import main\n\nmain()\n")
        script.chmod(0o755)
        print(f"the program is {script}")
    print(f"tlnmf {version()} for Python is in {target}")


if __name__ == "__main__":
    if sys.argv[1:] == ["install"]:
        install()
    elif len(sys.argv) == 3 and sys.argv[1] == "wheel":
        os.makedirs(sys.argv[2], exist_ok=True)
        print(os.path.join(sys.argv[2], build_wheel(sys.argv[2])))
    else:
        sys.exit(__doc__)
