# STATIC_FLAGS: the linker flags that a program with libtlnmf.a needs, for tlnmf.pc and for CMake.
set(STATIC_FLAGS "")
foreach(library ${LAPACKE_LIBRARY} ${BLAS_LIBRARY} ${OpenMP_C_LIBRARIES})
  get_filename_component(folder ${library} DIRECTORY)
  get_filename_component(name ${library} NAME)
  string(REGEX REPLACE "^lib(.*)\\.(so|a|dylib).*$" "\\1" name ${name})
  if(folder AND NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    list(APPEND STATIC_FLAGS -L${folder}) # /usr/lib/libblas.so -> -lblas, with -L for unusual folders
  endif()
  list(APPEND STATIC_FLAGS -l${name})
endforeach()

# Archives of BLAS and LAPACK may need Fortran's libraries or liblapack; shared ones bring them along. Tries
# a small program without shared libraries; without archives, nothing is added.
include(CheckCSourceCompiles)
function(tlnmf_static_extras out)
  set(CMAKE_EXE_LINKER_FLAGS "") # no -pie
  set(CMAKE_REQUIRED_INCLUDES ${CBLAS_INCLUDE} ${LAPACKE_INCLUDE})
  set(CMAKE_REQUIRED_LINK_OPTIONS -static)
  set(CMAKE_REQUIRED_QUIET ON)
  set(fortran -lgfortran -lquadmath)
  set(lapack -llapack)
  set(lapack_fortran -llapack ${fortran})
  set(${out} "" PARENT_SCOPE)
  foreach(extras none fortran lapack lapack_fortran)
    set(CMAKE_REQUIRED_LIBRARIES ${STATIC_FLAGS} ${${extras}} -lpthread -lm)
    check_c_source_compiles("#include <cblas.h>
      #include <lapacke.h>
      int main(void)
      {
          double a = 4, s, u, v, work[16];
          cblas_dscal(1, 2.0, &a, 1);
          return (int)LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'A', 'A', 1, 1, &a, 1, &s, &u, 1, &v, 1, work, 16);
      }" TLNMF_STATIC_WITH_${extras})
    if(TLNMF_STATIC_WITH_${extras})
      set(${out} ${${extras}} PARENT_SCOPE)
      break()
    endif()
  endforeach()
endfunction()
tlnmf_static_extras(extras)
list(APPEND STATIC_FLAGS ${extras} ${CMAKE_THREAD_LIBS_INIT} -lm)
if(CMAKE_DL_LIBS)
  list(APPEND STATIC_FLAGS -l${CMAKE_DL_LIBS})
endif()
