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
set(TUTTI_ROOM_parallel client policy env wire layout base)
set(TUTTI_ROOM_mpi parallel client policy env layout base)
set(TUTTI_ROOM_posix client policy env layout base)
set(TUTTI_ROOM_fuse env base)
set(TUTTI_ROOM_lab server parallel client policy env wire layout base)
set(TUTTI_ROOM_daemon server client policy env wire layout base)
set(TUTTI_ROOM_cli daemon fuse lab server parallel client policy env wire layout base)
set(TUTTI_ROOMS base layout policy env wire server client parallel mpi posix fuse lab daemon cli)

# tutti_room_sources(VARIABLE [EXCEPT file...]): every source below this directory. A new file needs no line here.
function(tutti_room_sources variable)
  cmake_parse_arguments(ROOM "" "" "EXCEPT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(REMOVE_ITEM sources "" ${ROOM_EXCEPT})
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# With TUTTI_UNITY: files whose unnamed namespaces have names that files beside them have too are compiled by themselves.
# What registers itself (policies, orders, plans, experiments, real runs) always has.
set(TUTTI_ALONE real/kv/lmdb_kv.cc meta/repeat.cc meta/edit.cc coordinator/gate_service.cc coordinator/policy_change.cc
    coordinator/policy_keeper.cc transfer/local_write.cc independent.cc request/window_options.cc target/registry.cc collective/registry.cc
    experiments/window/beyond_sizes.cc faults/gate_schedule.cc faults/history_run.cc scrub.cc)
function(tutti_unity name sources)
  set_target_properties(tutti_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  foreach(source IN LISTS sources)
    file(STRINGS ${source} registers REGEX "make\\(const Parameters&|known_experiments::|real_runs::" LIMIT_COUNT 1)
    if(registers OR source IN_LIST TUTTI_ALONE)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# tutti_use_rooms(TARGET ROOM PUBLIC|PRIVATE room...): links other rooms to a target of ROOM, if the table allows it.
function(tutti_use_rooms target name scope)
  foreach(room IN LISTS ARGN)
    if(NOT room IN_LIST TUTTI_ROOM_${name})
      message(FATAL_ERROR "room ${name} must not link room ${room}: ARCHITECTURE.md allows ${TUTTI_ROOM_${name}}")
    endif()
    target_link_libraries(${target} ${scope} tutti_${room})
  endforeach()
endfunction()

# tutti_room(NAME [ROOMS room...] [LIBRARIES target...] [PUBLIC_LIBRARIES target...] [EXCEPT file...] [EXTRA file...])
function(tutti_room name)
  cmake_parse_arguments(ROOM "" "" "ROOMS;LIBRARIES;PUBLIC_LIBRARIES;EXCEPT;EXTRA" ${ARGN})
  if(NOT DEFINED TUTTI_ROOM_${name})
    message(FATAL_ERROR "src/${name} is not a room of ARCHITECTURE.md; add it to cmake/Rooms.cmake first")
  endif()
  tutti_room_sources(sources EXCEPT ${ROOM_EXCEPT})
  add_library(tutti_${name} STATIC ${sources} ${ROOM_EXTRA})
  if(TUTTI_UNITY AND NOT name STREQUAL "cli")  # commands are much alike
    tutti_unity(${name} "${sources}")
  endif()
  target_include_directories(tutti_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/src)
  target_link_libraries(tutti_${name} PUBLIC ${ROOM_PUBLIC_LIBRARIES} PRIVATE ${ROOM_LIBRARIES})
  if(TUTTI_SANITIZE)  # simulations would take an hour without
    target_compile_options(tutti_${name} PRIVATE -O1)
  endif()
  tutti_use_rooms(tutti_${name} ${name} PUBLIC ${ROOM_ROOMS})
endfunction()

# Fails the build when a file includes a header of a room that its own room must not use.
function(tutti_check_includes)
  set(allowed "")
  foreach(name IN LISTS TUTTI_ROOMS)
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
