# SPDX-License-Identifier: Apache-2.0
# Read by cpack before it makes a package.

# Whoever builds a package answers for it, by the name and the address that Debian's tools use, too.
set(CPACK_PACKAGE_CONTACT "nobody (a private build) <nobody@everprof.invalid>")
if(DEFINED ENV{DEBEMAIL})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBEMAIL}")
  if(DEFINED ENV{DEBFULLNAME})
    set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
  endif()
endif()

# Files are installed below a folder of cpack, but the units in them name the program by where it will be: /usr/bin.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX ${CPACK_PACKAGING_INSTALL_PREFIX})
