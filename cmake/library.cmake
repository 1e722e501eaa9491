# tlnmf_library(NAME NEEDS library... FLAGS flag... [ON other]): lib<NAME>.so with its version script, and
# lib<NAME>.a, from the objects of NAME_objects. NEEDS are the targets and files that it uses, FLAGS the
# same as the linker flags of a program that links the installed archive, ON another such library.
#
# Both exist as NAME_shared and NAME_static. tlnmf::NAME is the one that BUILD_SHARED_LIBS asks for, and
# only that one is built and installed. If BUILD_SHARED_LIBS is not set, both are, and tlnmf::NAME is the
# shared library; in a host project it is the archive, as for other libraries of CMake.
if(DEFINED BUILD_SHARED_LIBS OR NOT top_level)
  if(BUILD_SHARED_LIBS)
    set(TLNMF_KINDS shared)
  else()
    set(TLNMF_KINDS static)
  endif()
else()
  set(TLNMF_KINDS shared static)
endif()

# Libraries find each other by $ORIGIN unless they are installed where the system looks for libraries.
set(TLNMF_RPATH "$ORIGIN")
if("${CMAKE_INSTALL_FULL_LIBDIR}" IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
  set(TLNMF_RPATH "")
endif()

function(tlnmf_library name)
  cmake_parse_arguments(PARSE_ARGV 1 it "" "ON" "NEEDS;FLAGS")
  add_library(${name}_shared SHARED $<TARGET_OBJECTS:${name}_objects>)
  add_library(${name}_static STATIC $<TARGET_OBJECTS:${name}_objects>)
  foreach(kind shared static)
    set_target_properties(${name}_${kind} PROPERTIES OUTPUT_NAME ${name})
    target_include_directories(${name}_${kind} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    if(it_ON)
      target_link_libraries(${name}_${kind} PUBLIC ${it_ON}_${kind})
    endif()
    if(NOT kind IN_LIST TLNMF_KINDS)
      set_target_properties(${name}_${kind} PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
  endforeach()
  target_link_libraries(${name}_shared PRIVATE ${it_NEEDS})
  foreach(needed ${it_NEEDS})
    target_link_libraries(${name}_static PUBLIC $<BUILD_INTERFACE:${needed}>)
  endforeach()
  # Flags, not targets: users of the installed package need not find OpenMP, BLAS and HDF5 again.
  foreach(flag ${it_FLAGS})
    target_link_libraries(${name}_static PUBLIC $<INSTALL_INTERFACE:${flag}>)
  endforeach()
  list(GET TLNMF_KINDS 0 kind)
  set_target_properties(${name}_${kind} PROPERTIES EXPORT_NAME ${name})
  add_library(tlnmf::${name} ALIAS ${name}_${kind})
  add_library(tlnmf::${name}_static ALIAS ${name}_static)
  # The SONAME is lib<NAME>.so.ABI, a link to lib<NAME>.so.VERSION.
  set_target_properties(${name}_shared PROPERTIES VERSION ${PROJECT_VERSION}
                        SOVERSION ${TLNMF_ABI} INSTALL_RPATH "${TLNMF_RPATH}")
  if(NOT APPLE)
    set(map ${PROJECT_SOURCE_DIR}/cmake/${name}.map)
    target_link_options(${name}_shared PRIVATE LINKER:--version-script=${map})
    # A shared library that links the archive does not export its functions.
    target_link_options(${name}_static INTERFACE LINKER:--exclude-libs,lib${name}.a)
    set_target_properties(${name}_shared PROPERTIES LINK_DEPENDS ${map})
  endif()
endfunction()
