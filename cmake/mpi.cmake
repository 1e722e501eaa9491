# tlnmf-mpi: the program with mpi/ instead of cli/single_process.c. Only mpi/ includes mpi.h.

# FindMPI fails if there is a compiler wrapper without headers, so check for them first.
find_program(MPI_WRAPPER mpicc)
if(MPI_WRAPPER)
  file(WRITE ${PROJECT_BINARY_DIR}/CMakeFiles/mpi_probe.c "#include <mpi.h>\n")
  execute_process(COMMAND ${MPI_WRAPPER} -E ${PROJECT_BINARY_DIR}/CMakeFiles/mpi_probe.c
                  RESULT_VARIABLE MPI_HEADERS OUTPUT_QUIET ERROR_QUIET)
endif()
if(MPI_WRAPPER AND MPI_HEADERS EQUAL 0)
  find_package(MPI COMPONENTS C)
endif()
if(MPI_C_FOUND)
  file(GLOB MPI_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/mpi/*.c)
  add_executable(tlnmf-mpi ${MPI_SOURCES})
  target_link_libraries(tlnmf-mpi PRIVATE tlnmf_cli MPI::MPI_C)
  list(APPEND PROGRAMS tlnmf-mpi)
elseif(TLNMF_MPI MATCHES "^[Aa][Uu][Tt][Oo]$")
  message(STATUS "MPI is not there: tlnmf-mpi is not built")
else()
  message(FATAL_ERROR "TLNMF_MPI=${TLNMF_MPI}, but mpicc finds no mpi.h")
endif()
