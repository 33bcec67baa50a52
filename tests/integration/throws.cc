// SPDX-License-Identifier: Apache-2.0
// A program for tests of the eBPF collector: it throws exceptions through some
// frames for as many seconds as its argument says, so most samples are taken in
// the unwinder of libgcc and in libstdc++.
#include <cstdlib>
#include <ctime>
#include <stdexcept>

static volatile unsigned long work;

__attribute__((noinline)) static void throw_deep(int depth)
{
	if (!depth)
		throw std::runtime_error("thrown");
	throw_deep(depth - 1);
	work = work + 1;
}

__attribute__((noinline)) static void burn_exceptions(std::time_t end)
{
	while (std::time(nullptr) < end) {
		try {
			throw_deep(10);
		} catch (const std::exception &) {
			work = work + 1;
		}
	}
	work = work + 1;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	burn_exceptions(std::time(nullptr) + std::atoi(argv[1]));
	return 0;
}
