// SPDX-License-Identifier: BSD-3-Clause
#include "capture/vm/machines.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/process.hpp"
#include "capture/vm/qemu_command.hpp"

namespace iotrail::capture::vm {
namespace {

constexpr std::size_t kShownMost = 8; // machines, in a message

std::string file_name(std::string path) {
  if (const std::string_view gone = " (deleted)"; path.ends_with(gone))
    path.resize(path.size() - gone.size()); // the package was updated while the machine ran
  return std::filesystem::path(path).filename().native();
}

std::string shown_machine(const Machine& machine) {
  return machine.name.empty() ? fmt::format("PID {}", machine.pid)
                              : fmt::format("{} (PID {})", machine.name, machine.pid);
}

std::string shown_machines(const std::vector<Machine>& machines) {
  std::vector<std::string> texts;
  for (const Machine& machine : machines)
    texts.push_back(shown_machine(machine));
  const std::size_t all = texts.size();
  texts.resize(std::min(all, kShownMost));
  return fmt::format("{}{}", fmt::join(texts, ", "),
                     all > kShownMost ? fmt::format(" and {} more", all - kShownMost) : "");
}

} // namespace

bool is_machine(pid_t pid) {
  std::error_code error;
  const std::filesystem::path exe =
      std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error);
  return is_qemu(file_name(error ? command_of(pid).front() : exe.native()));
}

std::vector<Machine> running_machines() {
  std::vector<Machine> machines;
  for (const RunningProcess& process : running_processes())
    if (is_machine(process.pid))
      machines.push_back({process.pid, parse_qemu_command(command_of(process.pid)).name});
  std::ranges::sort(machines, {}, &Machine::pid);
  return machines;
}

Result<Machine> find_machine(const std::string& text) {
  return find_machine(text, running_machines());
}

Result<Machine> find_machine(const std::string& text, const std::vector<Machine>& machines) {
  std::vector<Machine> found;
  for (const Machine& machine : machines) {
    if (fmt::format("{}", machine.pid) == text)
      return machine;
    if (machine.name == text && !text.empty())
      found.push_back(machine);
  }
  const std::string what = "virtual machine " + text;
  if (found.size() == 1)
    return found.front();
  if (found.size() > 1)
    return fail(what, fmt::format("several have this name: {}", shown_machines(found)),
                "Name one of them by its PID.");
  return fail(what,
              machines.empty() ? "no process of QEMU (qemu-system-...) runs here"
                               : fmt::format("none has this name or PID; there are {}",
                                             shown_machines(machines)),
              "Give the name that `virsh list` or `qemu -name` shows, or the PID of the process.");
}

} // namespace iotrail::capture::vm
