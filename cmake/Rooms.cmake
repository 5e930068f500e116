# The rooms of the house and the links between them (see ARCHITECTURE.md). A room is a directory below src/ and a
# library of the same name; it may use only the rooms listed here. tutti_room() refuses another link, and
# tutti_check_includes() another #include, at configure and at build time.
set(TUTTI_ROOM_base "")
set(TUTTI_ROOM_layout base)
set(TUTTI_ROOM_policy layout base)
set(TUTTI_ROOM_env base)
set(TUTTI_ROOM_wire base)
set(TUTTI_ROOM_server policy env wire layout base)
set(TUTTI_ROOM_client policy env wire layout base)
set(TUTTI_ROOM_mpi client env layout base)
set(TUTTI_ROOM_fuse client base)
set(TUTTI_ROOM_lab server client policy env wire layout base)
set(TUTTI_ROOM_cli lab server client policy env wire layout base)

# tutti_room(NAME SOURCES file... [ROOMS room...] [LIBRARIES target...] [PUBLIC_LIBRARIES target...])
function(tutti_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES;PUBLIC_LIBRARIES" ${ARGN})
  if(NOT DEFINED TUTTI_ROOM_${name})
    message(FATAL_ERROR "src/${name} is not a room of ARCHITECTURE.md; add it to cmake/Rooms.cmake first")
  endif()
  add_library(tutti_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(tutti_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/src)
  target_link_libraries(tutti_${name} PUBLIC ${ROOM_PUBLIC_LIBRARIES} PRIVATE ${ROOM_LIBRARIES})
  foreach(room IN LISTS ROOM_ROOMS)
    if(NOT room IN_LIST TUTTI_ROOM_${name})
      message(FATAL_ERROR "room ${name} must not link room ${room}: ARCHITECTURE.md allows ${TUTTI_ROOM_${name}}")
    endif()
    target_link_libraries(tutti_${name} PUBLIC tutti_${room})
  endforeach()
endfunction()

# Fails the build when a file includes a header of a room that its own room must not use.
function(tutti_check_includes)
  set(allowed "")
  foreach(name base layout policy env wire server client mpi fuse lab cli)
    list(JOIN TUTTI_ROOM_${name} "," rooms)
    list(APPEND allowed "${name}=${rooms}")
  endforeach()
  list(JOIN allowed "|" allowed)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/src/*.cc)
  add_custom_command(
    OUTPUT ${PROJECT_BINARY_DIR}/includes.checked
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}/src "-DALLOWED=${allowed}"
            -DSTAMP=${PROJECT_BINARY_DIR}/includes.checked -P ${PROJECT_SOURCE_DIR}/cmake/CheckIncludes.cmake
    DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/cmake/CheckIncludes.cmake
    COMMENT "Checking includes against the rooms"
    VERBATIM)
  add_custom_target(check_includes ALL DEPENDS ${PROJECT_BINARY_DIR}/includes.checked)
endfunction()
