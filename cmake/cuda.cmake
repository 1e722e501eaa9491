# The GPU engine, libtlnmf_cuda.so: a separate library that libtlnmf loads on request. nvcc compiles the
# kernels for sm_80 and sm_90, and as PTX for later GPUs.
string(TOUPPER "${TLNMF_CUDA}" cuda_wanted)
set(TLNMF_BUILD_CUDA NO)
if(NOT TLNMF_CUDA)
  return()
endif()

find_program(NVCC nvcc HINTS /usr/local/cuda/bin)
if(NVCC)
  get_filename_component(cuda_root ${NVCC} REALPATH)
  get_filename_component(cuda_root ${cuda_root}/../.. ABSOLUTE)
  find_path(CUDA_INCLUDE cublas_v2.h HINTS ${cuda_root}/include /usr/local/cuda/include)
  find_library(CUBLAS_LIBRARY cublas HINTS ${cuda_root}/lib64 /usr/local/cuda/lib64)
  find_library(CUDART_LIBRARY cudart_static HINTS ${cuda_root}/lib64 /usr/local/cuda/lib64)
endif()
set(CUDA_TARGETS -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90])
# An nvcc may lack the targets or its host compiler.
if(NVCC AND NOT DEFINED NVCC_WORKS)
  file(WRITE ${PROJECT_BINARY_DIR}/cuda/try.cu "__global__ void nothing() {}\n")
  execute_process(COMMAND ${NVCC} -std=c++17 ${CUDA_TARGETS} -c ${PROJECT_BINARY_DIR}/cuda/try.cu
                          -o ${PROJECT_BINARY_DIR}/cuda/try.o
                  RESULT_VARIABLE tried OUTPUT_QUIET ERROR_QUIET)
  if(tried EQUAL 0)
    set(NVCC_WORKS YES CACHE INTERNAL "nvcc compiles for the targets of the GPU engine")
  else()
    set(NVCC_WORKS NO CACHE INTERNAL "nvcc compiles for the targets of the GPU engine")
  endif()
endif()
set(cuda_is_there NO)
if(NVCC AND NVCC_WORKS AND CUDA_INCLUDE AND CUBLAS_LIBRARY AND CUDART_LIBRARY)
  set(cuda_is_there YES)
endif()

if(cuda_wanted STREQUAL AUTO AND TLNMF_SANITIZE)
  message(STATUS "GPU engine: not built with sanitizers (-DTLNMF_CUDA=ON builds it)")
elseif(cuda_is_there)
  set(TLNMF_BUILD_CUDA YES)
  message(STATUS "GPU engine: built by ${NVCC}")
elseif(cuda_wanted STREQUAL AUTO)
  message(STATUS "GPU engine: not built, nvcc or cuBLAS is missing or does not work")
else()
  message(FATAL_ERROR "TLNMF_CUDA=${TLNMF_CUDA}, but nvcc, cublas_v2.h, libcublas or libcudart_static is missing")
endif()

if(TLNMF_BUILD_CUDA)
  file(GLOB KERNELS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cuda/*.cu)
  file(GLOB HOST_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cuda/*.c)
  file(GLOB KERNEL_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cuda/*.h ${PROJECT_SOURCE_DIR}/cuda/*.cuh)
  foreach(source ${KERNELS})
    get_filename_component(name ${source} NAME_WE)
    set(object ${PROJECT_BINARY_DIR}/cuda/${name}.o)
    add_custom_command(OUTPUT ${object} DEPENDS ${source} ${KERNEL_HEADERS} VERBATIM
      COMMENT "nvcc ${name}.cu"
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/cuda
      COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${NVCC} -std=c++17 -O3 -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}
              ${CUDA_TARGETS}
              -Xcompiler=-fPIC,-fvisibility=hidden -c ${source} -o ${object})
    list(APPEND KERNEL_OBJECTS ${object})
  endforeach()
  add_library(tlnmf_cuda SHARED ${HOST_SOURCES} ${KERNEL_OBJECTS})
  target_include_directories(tlnmf_cuda PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_include_directories(tlnmf_cuda SYSTEM PRIVATE ${CUDA_INCLUDE})
  # It shares structs with libtlnmf, and has copies of the few functions that it uses.
  target_link_libraries(tlnmf_cuda PRIVATE tlnmf_static ${CUBLAS_LIBRARY} ${CUDART_LIBRARY} rt stdc++)
  target_link_options(tlnmf_cuda PRIVATE LINKER:--exclude-libs,ALL)
endif()
