# Everything that `cmake --install` installs, in components. `libraries`, the shared libraries, is the part
# that a Python package carries. `development` is the rest that compiling against them needs.
set(INSTALLED tlnmf)
if(TLNMF_BUILD_IO)
  list(APPEND INSTALLED tlnmf_io)
endif()
foreach(name ${INSTALLED})
  foreach(kind ${TLNMF_KINDS})
    install(TARGETS ${name}_${kind} EXPORT tlnmfTargets
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libraries NAMELINK_COMPONENT development
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  endforeach()
endforeach()
set(headers tlnmf.h sound.h paper.h)
if(TLNMF_BUILD_IO)
  list(APPEND headers io.h)
endif()
list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/include/tlnmf/)
install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tlnmf COMPONENT development)
# The man pages of the functions, from these headers. Only they need Python.
find_program(TLNMF_PYTHON NAMES python3)
set(too_old 1)
if(TLNMF_PYTHON)
  execute_process(COMMAND ${TLNMF_PYTHON} -c "import sys; sys.exit(sys.version_info < (3, 6))"
                  RESULT_VARIABLE too_old OUTPUT_QUIET ERROR_QUIET)
endif()
if(too_old EQUAL 0)
  set(man3 ${PROJECT_BINARY_DIR}/man3)
  set(site ${PROJECT_SOURCE_DIR}/docs/site)
  list(TRANSFORM headers REPLACE "^.*/(.*)\\.h$" "\\1" OUTPUT_VARIABLE stems)
  add_custom_command(OUTPUT ${man3}/tlnmf.3 VERBATIM
                     DEPENDS ${headers} ${site}/headers.py ${site}/man3.py ${PROJECT_SOURCE_DIR}/CITATION.cff
                             ${PROJECT_SOURCE_DIR}/cmake/tlnmf.map ${PROJECT_SOURCE_DIR}/cmake/tlnmf_io.map
                     COMMAND ${TLNMF_PYTHON} -B ${site}/man3.py ${man3} ${stems})
  add_custom_target(man3 ALL DEPENDS ${man3}/tlnmf.3)
  install(DIRECTORY ${man3}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)
else()
  message(STATUS "The man pages of the functions are not built: they need python3 (3.6 or newer)")
endif()
if(TLNMF_BUILD_CUDA)
  install(TARGETS tlnmf_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cuda)
endif()
# The programs, their man pages and completions. bash and fish look for a script with the name of the program.
# zsh reads the first line of all its scripts: one script, of the component `program`, serves both programs.
set(completions ${PROJECT_SOURCE_DIR}/cli/completions)
foreach(row tlnmf:program tlnmf-mpi:mpi)
  string(REPLACE ":" ";" row ${row})
  list(GET row 0 program)
  list(GET row 1 component)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
    install(FILES ${completions}/tlnmf.bash RENAME ${program} COMPONENT ${component}
            DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions)
    install(FILES ${completions}/tlnmf.fish RENAME ${program}.fish COMPONENT ${component}
            DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d)
  endif()
endforeach()
if(TARGET tlnmf)
  install(FILES ${completions}/_tlnmf DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions
          COMPONENT program)
endif()
foreach(page IN LISTS MAN_PAGES)
  set(component program)
  if(page MATCHES "/tlnmf-mpi\\.1$")
    set(component mpi)
  endif()
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
endforeach()
set(docdir ${CMAKE_INSTALL_DATAROOTDIR}/doc/tlnmf)
install(FILES LICENSE README.md CHANGELOG.md CITATION.cff CONTRIBUTING.md SECURITY.md
        DESTINATION ${docdir} COMPONENT documentation)
if(TLNMF_BUILD_IO) # report pages contain uPlot
  install(FILES report/vendor/LICENSE.uPlot DESTINATION ${docdir} COMPONENT documentation)
endif()
install(DIRECTORY docs examples DESTINATION ${docdir} COMPONENT documentation
        PATTERN CMakeLists.txt EXCLUDE PATTERN docs/site EXCLUDE)
# The pages and examples/demo.sh use them by these names.
install(DIRECTORY tests/recordings DESTINATION ${docdir}/tests COMPONENT documentation)
install(DIRECTORY python/examples DESTINATION ${docdir}/python COMPONENT documentation PATTERN __pycache__ EXCLUDE)

install(EXPORT tlnmfTargets NAMESPACE tlnmf:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tlnmf
        COMPONENT development)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tlnmfConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# tlnmf::tlnmf_static exists even if the archive is the only library.
file(WRITE ${PROJECT_BINARY_DIR}/tlnmfConfig.cmake [[
include(${CMAKE_CURRENT_LIST_DIR}/tlnmfTargets.cmake)
foreach(name tlnmf tlnmf_io)
  if(TARGET tlnmf::${name} AND NOT TARGET tlnmf::${name}_static)
    get_target_property(kind tlnmf::${name} TYPE)
    if(kind STREQUAL STATIC_LIBRARY)
      add_library(tlnmf::${name}_static INTERFACE IMPORTED)
      target_link_libraries(tlnmf::${name}_static INTERFACE tlnmf::${name})
    endif()
  endif()
endforeach()
]])
install(FILES ${PROJECT_BINARY_DIR}/tlnmfConfig.cmake ${PROJECT_BINARY_DIR}/tlnmfConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tlnmf COMPONENT development)
include(cmake/pkgconfig.cmake)
