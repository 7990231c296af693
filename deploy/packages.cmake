# packages.cmake: Debian packages of the installed files, through CPack (./dev package). A package is a component of
# the install rules; files that only a package has (debian/) are left out of `cmake --install`.
find_program(DTRAIN_DPKG_SHLIBDEPS dpkg-shlibdeps)
if(NOT DTRAIN_DPKG_SHLIBDEPS)
  message(STATUS "no Debian packages: dpkg-shlibdeps is missing (package dpkg-dev)")
  return()
endif()

set(DTRAIN_PACKAGE_CONTACT "dtrain maintainers <maintainers@dtrain.invalid>" CACHE STRING
    "Whom a package names as its maintainer")
set(DTRAIN_PACKAGE_RELEASE 1 CACHE STRING "The package's own number behind dtrain's version")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dtrain)
set(CPACK_PACKAGE_CONTACT ${DTRAIN_PACKAGE_CONTACT})
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_COMPONENTS_ALL ${DTRAIN_PACKAGES})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
# The packages' own prefix, whatever this build installs to; files in /etc need DESTDIR.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
# xz with several threads writes other bytes than with one, whatever their number: so at least two.
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
if(cores LESS 2)
  set(cores 2)
endif()
set(CPACK_THREADS ${cores})
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${DTRAIN_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# The dependencies of each package besides libraries, which dpkg-shlibdeps finds. A worker and its trainer need the
# same version; the other packages are independent, so that they may be on different hosts.
set(same_version "(= ${PROJECT_VERSION}-${DTRAIN_PACKAGE_RELEASE})")
# Without systemd, for example in a container, its two small tools make the account and the folders.
set(account "systemd-standalone-sysusers | systemd-sysusers, systemd-standalone-tmpfiles | systemd-tmpfiles")
foreach(package IN LISTS DTRAIN_PACKAGES)
  string(TOUPPER ${package} PACKAGE)
  set(CPACK_DEBIAN_${PACKAGE}_PACKAGE_NAME dtrain-${package})
  set(CPACK_DEBIAN_${PACKAGE}_PACKAGE_SHLIBDEPS ON)
endforeach()
set(CPACK_DEBIAN_COORDINATOR_DESCRIPTION
"training orchestration: the coordinator
The one service of a fleet: it takes experiments, places their trials on
workers as whole gangs, keeps what came of them in a journal, and serves
the page, JSON and metrics over HTTP. It is not started by installing it:
systemctl enable --now dtcoord")
set(CPACK_DEBIAN_COORDINATOR_PACKAGE_DEPENDS "${account}")
# ca-certificates: verifies receivers of notices.
set(CPACK_DEBIAN_COORDINATOR_PACKAGE_RECOMMENDS "dtrain-cli, ca-certificates")
# libpq5: for a journal in PostgreSQL (coordinator/store/libpq.h).
set(CPACK_DEBIAN_COORDINATOR_PACKAGE_SUGGESTS "dtrain-dashboards, libpq5")
set(CPACK_DEBIAN_WORKER_DESCRIPTION
"training orchestration: the worker of a slot
One for each GPU or share of a host's cores: it takes orders of a
coordinator, keeps a trainer, and sends its reports. It is not started by
installing it: systemctl enable --now dtworker.target dtworker@cpu")
set(CPACK_DEBIAN_WORKER_PACKAGE_DEPENDS "${account}, dtrain-trainer ${same_version}")
set(CPACK_DEBIAN_TRAINER_DESCRIPTION
"training orchestration: the trainer, with LibTorch
Trains one rank of one trial, for a worker or alone. It brings LibTorch
of its own, of the version that it was tested with, under
/usr/lib/dtrain: Debian has another.")
set(CPACK_DEBIAN_CLI_DESCRIPTION
"training orchestration: the command, and the manual
dtctl submits experiments to a coordinator, follows them and shows their
results. The manual and examples are in /usr/share/doc/dtrain-cli, a
Python client as a wheel in /usr/share/dtrain.")
# dtrain-slurm is a Python script; the programs' own dependencies follow from their libraries.
set(CPACK_DEBIAN_CLI_PACKAGE_DEPENDS "python3:any")
set(CPACK_DEBIAN_CLI_PACKAGE_SUGGESTS "dtrain-coordinator, dtrain-worker")
set(CPACK_DEBIAN_DASHBOARDS_DESCRIPTION
"training orchestration: files for Prometheus and Grafana
A scrape configuration, alerts and a dashboard with its provisioning, in
/usr/share/dtrain.")
set(CPACK_DEBIAN_DASHBOARDS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DASHBOARDS_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DASHBOARDS_PACKAGE_SUGGESTS "prometheus, grafana")

# ---- Files that only packages have ----
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} show -s --format=%cD HEAD
                OUTPUT_VARIABLE DTRAIN_COMMIT_DATE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT DTRAIN_COMMIT_DATE)
  string(TIMESTAMP DTRAIN_COMMIT_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
string(REGEX MATCH "[0-9][0-9][0-9][0-9]" DTRAIN_COMMIT_YEAR "${DTRAIN_COMMIT_DATE}")
set(debian ${CMAKE_CURRENT_BINARY_DIR}/debian)
configure_file(debian/changelog.in ${debian}/changelog @ONLY)

# dt_package_script(SERVICE NAME): makes a maintainer script from the template that both services share.
function(dt_package_script service name)
  configure_file(debian/${name}.in ${debian}/${service}/${name} @ONLY)
  file(CHMOD ${debian}/${service}/${name}
       PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endfunction()

foreach(service IN ITEMS coordinator worker)
  if(NOT service IN_LIST DTRAIN_PACKAGES)
    continue()
  endif()
  set(package dtrain-${service})
  if(service STREQUAL coordinator)
    set(units "dtcoord.service")
    set(links "")
    set(state /var/lib/dtrain)
    set(kept "the journal and code of experiments")
    set(hand_over ":")  # empty: the coordinator keeps its account
  else()
    set(units "dtworker@*.service")
    set(links "/etc/systemd/system/*.target.wants/dtworker.target")
    set(state /var/lib/dtrain-worker)
    set(kept "checkpoints and data")
    file(READ debian/hand-over hand_over)
    string(CONFIGURE "${hand_over}" hand_over @ONLY)
    string(STRIP "${hand_over}" hand_over)
  endif()
  file(WRITE ${debian}/${service}/conffiles "/etc/dtrain/${service}.env\n")
  install(FILES systemd/${service}.env DESTINATION /etc/dtrain COMPONENT ${service} EXCLUDE_FROM_ALL)
  set(extra ${debian}/${service}/conffiles)
  foreach(script IN ITEMS postinst prerm postrm)
    dt_package_script(${service} ${script})
    list(APPEND extra ${debian}/${service}/${script})
  endforeach()
  string(TOUPPER ${service} SERVICE)
  set(CPACK_DEBIAN_${SERVICE}_PACKAGE_CONTROL_EXTRA ${extra})
endforeach()

foreach(package IN LISTS DTRAIN_PACKAGES)
  set(documents ${CMAKE_INSTALL_DATADIR}/doc/dtrain-${package})
  set(DTRAIN_COPYRIGHT_MORE "")
  if(package STREQUAL trainer AND DTRAIN_INSTALL_LIBTORCH)
    file(READ debian/copyright-libtorch DTRAIN_COPYRIGHT_MORE)
    file(GLOB licences ${DTRAIN_LIBTORCH_FOLDER}/torch-*.dist-info/licenses/*)
    install(FILES ${licences} DESTINATION ${documents}/torch COMPONENT trainer EXCLUDE_FROM_ALL)
    # A single text for all of them.
    file(GLOB licences ${DTRAIN_LIBTORCH_FOLDER}/nvidia_*.dist-info/licenses/*)
    list(SORT licences)
    if(licences)
      list(POP_FRONT licences licence)
      install(FILES ${licence} DESTINATION ${documents}/nvidia COMPONENT trainer EXCLUDE_FROM_ALL)
    endif()
  endif()
  configure_file(debian/copyright.in ${debian}/${package}/copyright @ONLY)
  install(FILES ${debian}/${package}/copyright DESTINATION ${documents} COMPONENT ${package} EXCLUDE_FROM_ALL)
  # In the form that Debian requires: packed, without the time of packing.
  install(CODE "
    set(made \"${debian}/${package}\")
    execute_process(COMMAND gzip -9nc \"${debian}/changelog\" OUTPUT_FILE \"\${made}/changelog.Debian.gz\"
                    COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND gzip -9nc \"${CMAKE_SOURCE_DIR}/CHANGELOG.md\" OUTPUT_FILE \"\${made}/changelog.gz\"
                    COMMAND_ERROR_IS_FATAL ANY)
    file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${documents}\" TYPE FILE
         FILES \"\${made}/changelog.Debian.gz\" \"\${made}/changelog.gz\")"
    COMPONENT ${package} EXCLUDE_FROM_ALL)
  if(DTRAIN_STATIC AND NOT package STREQUAL dashboards)
    # The licences of the libraries in its programs, and a list of these.
    get_property(programs GLOBAL PROPERTY DTRAIN_PROGRAMS_${package})
    list(TRANSFORM programs REPLACE "(.+)" "${CMAKE_BINARY_DIR}/bin/\\1.linked" OUTPUT_VARIABLE linked)
    list(JOIN linked " " linked)
    set(bill ${debian}/${package}/linked)
    install(CODE "
      execute_process(COMMAND python3 -B ${CMAKE_SOURCE_DIR}/tools/bill.py --version ${PROJECT_VERSION}
                              --libraries ${DTRAIN_STATIC_LIBRARIES}/.. --output ${bill} ${linked}
                      COMMAND_ERROR_IS_FATAL ANY)
      file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${documents}\" TYPE DIRECTORY FILES \"${bill}\")"
      COMPONENT ${package} EXCLUDE_FROM_ALL)
  endif()
  set(DTRAIN_OVERRIDES_MORE "")
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/debian/overrides-${package})
    file(READ debian/overrides-${package} DTRAIN_OVERRIDES_MORE)
  endif()
  configure_file(debian/overrides.in ${debian}/${package}/overrides @ONLY)
  install(FILES ${debian}/${package}/overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
          RENAME dtrain-${package} COMPONENT ${package} EXCLUDE_FROM_ALL)
endforeach()

include(CPack)
