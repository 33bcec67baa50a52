# The program of the sampler, which runs in the kernel: clang compiles it, and
# bpftool makes a header of it that has the program and its maps.
if(NOT WITH_BPF)
  return()
endif()
find_program(BPF_CLANG NAMES clang clang-19 clang-14)
find_program(BPFTOOL bpftool PATHS /usr/sbin)
if(NOT BPF_CLANG OR NOT BPFTOOL)
  message(FATAL_ERROR "The eBPF sampler needs clang and bpftool: install the "
    "packages clang and bpftool, or build without it: -DWITH_BPF=OFF")
endif()
set(BPF ${PROJECT_SOURCE_DIR}/bpf)
set(BPF_OUT ${PROJECT_BINARY_DIR}/bpf)
file(MAKE_DIRECTORY ${BPF_OUT})
# "gen object" also removes the debug information, but not the types, nor the
# names of the sources: those are relative, or the program would depend on the
# folder that it is built in.
add_custom_command(OUTPUT ${BPF_OUT}/sampler.skel.h
  COMMAND ${BPF_CLANG} -g -O2 -target bpf -mcpu=v2 -D__TARGET_ARCH_x86 -Wall -Wextra -Werror
    -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -iquote ${PROJECT_SOURCE_DIR}
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-compilation-dir=.
    -c ${BPF}/kernel/sampler.bpf.c -o ${BPF_OUT}/sampler.o
  COMMAND ${BPFTOOL} gen object ${BPF_OUT}/sampler.bpf.o ${BPF_OUT}/sampler.o
  COMMAND ${BPFTOOL} gen skeleton ${BPF_OUT}/sampler.bpf.o name sampler_bpf > ${BPF_OUT}/sampler.skel.h
  DEPENDS ${BPF}/kernel/sampler.bpf.c ${BPF}/kernel/abi.h ${BPF}/kernel/kern_types.h
    ${BPF}/kernel/walk.h ${BPF}/unwind/unwind_row.h
  VERBATIM)
target_sources(bpf PRIVATE ${BPF_OUT}/sampler.skel.h)
target_include_directories(bpf SYSTEM PRIVATE ${BPF_OUT})
