// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "capture/session/inheritance.hpp"
#include "cli/exit.hpp"
#include "cli/face.hpp"
#include "cli/run.hpp"

namespace {

// If a standard stream is closed, the next file that is opened would take its place, and receive the output.
void open_standard_streams() {
  int fd = 0;
  do
    fd = ::open("/dev/null", O_RDWR); // the lowest that is free
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0)
    ::close(fd);
}

// A link with the name of another program makes its command line ours.
std::vector<std::string> arguments_of(int argc, char** argv) {
  if (argc == 0)
    return {};
  std::vector<std::string> arguments{argv + 1, argv + argc};
  const std::string name = std::filesystem::path(argv[0]).filename().native();
  if (iotrail::cli::find_face(name) != nullptr)
    arguments.insert(arguments.begin(), {"as", name});
  return arguments;
}

} // namespace

int main(int argc, char** argv) {
  using namespace iotrail::cli;
  (void)iotrail::capture::Inheritance::of_this_process();
  open_standard_streams();
  ::signal(SIGXFSZ, SIG_IGN); // a file at its size limit is then an error of write()
  try {
    return run(verbs(), arguments_of(argc, argv), Console{});
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "iotrail: out of memory\n  Raise the limit of memory (ulimit -v, the "
                         "control group's),\n  or end other programs.\n");
    return static_cast<int>(Exit::failed);
  } catch (const std::system_error& refusal) {
    const bool is_of_thread = refusal.code() == std::errc::resource_unavailable_try_again;
    std::fprintf(stderr, "iotrail: %s%s\n", is_of_thread ? "" : "bug: ", refusal.what());
    if (is_of_thread)
      std::fprintf(stderr, "  No thread can be started. Raise the limit of processes (ulimit -u,\n"
                           "  the control group's), or end other programs.\n");
    return static_cast<int>(Exit::failed);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "iotrail: bug: %s\n", bug.what());
    return static_cast<int>(Exit::failed);
  }
}
