# tlnmf_library(NAME): lib<NAME>.so with its version script, and lib<NAME>.a, from the objects of
# NAME_objects; both are installed. CMake's users link tlnmf::NAME.
function(tlnmf_library name)
  add_library(${name}_shared SHARED $<TARGET_OBJECTS:${name}_objects>)
  add_library(${name}_static STATIC $<TARGET_OBJECTS:${name}_objects>)
  foreach(target ${name}_shared ${name}_static)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
  # Until 1.0 every minor version may change the ABI.
  set_target_properties(${name}_shared PROPERTIES VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                        EXPORT_NAME ${name} INSTALL_RPATH "$ORIGIN")
  if(NOT APPLE)
    set(map ${PROJECT_SOURCE_DIR}/cmake/${name}.map)
    target_link_options(${name}_shared PRIVATE LINKER:--version-script=${map})
    set_target_properties(${name}_shared PROPERTIES LINK_DEPENDS ${map})
  endif()
  install(TARGETS ${name}_shared EXPORT tlnmfTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(TARGETS ${name}_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
