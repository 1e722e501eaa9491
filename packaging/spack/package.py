"""Spack recipe of tlnmf, for the sources in the current folder.

Copy this file to packages/tlnmf/ of a package repository of yours (spack repo create; spack repo add), then
call spack dev-build tlnmf@0.3.0 in the sources.
"""
from spack.package import *


class Tlnmf(CMakePackage):
    """Transform-learning nonnegative matrix factorisation and joint diagonalisation: libraries and a program."""

    license("BSD-3-Clause")

    version("0.3.0")

    variant("shared", default=True, description="Build shared libraries, not archives")
    variant("io", default=True, description="Build libtlnmf_io, which reads and writes files")
    variant("hdf5", default=True, when="+io", description="HDF5 files, and the program")
    variant("matio", default=True, when="+hdf5", description="Read MATLAB files")
    variant("mpi", default=False, when="+hdf5", description="Build tlnmf-mpi")
    variant("cuda", default=False, description="Build the GPU engine")

    depends_on("c", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("pkgconfig", type="build", when="+io")
    depends_on("openblas")  # contains CBLAS and LAPACKE
    depends_on("libsndfile", when="+io")
    depends_on("jansson", when="+io")
    depends_on("zlib-api", when="+io")
    depends_on("hdf5+hl~mpi", when="+hdf5")
    depends_on("matio+hdf5", when="+matio")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@11.8:", when="+cuda")

    def cmake_args(self):
        blas = self.spec["openblas"].libs[0]
        return [
            self.define("TLNMF_BUILD_TESTS", False),
            self.define("BLAS_LIBRARY", blas),
            self.define("LAPACKE_LIBRARY", blas),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("TLNMF_BUILD_IO", "io"),
            self.define_from_variant("TLNMF_HDF5", "hdf5"),
            self.define_from_variant("TLNMF_MATIO", "matio"),
            self.define_from_variant("TLNMF_MPI", "mpi"),
            self.define_from_variant("TLNMF_CUDA", "cuda"),
        ]
