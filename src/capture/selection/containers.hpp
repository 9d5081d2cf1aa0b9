// SPDX-License-Identifier: BSD-3-Clause
//
// Containers by what their runtimes call them. Each is a control group that has the container's id, or its name, in its own:
// docker-ID.scope, /docker/ID, cri-containerd-ID.scope, libpod-ID.scope, lxc.payload.NAME, /lxc/NAME, machine-NAME.scope.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iotrail::capture {

// The container that a control group, by its path below the hierarchy's root, or one above it, is of: the innermost, with its
// whole id or its name. Empty: of none. Any text may be given.
std::string container_of(std::string_view group);

// Whether `container`, as container_of() tells it, is the one that is called `wanted`: an id may be cut to its first 12
// digits, or more, as `docker ps` shows it.
bool is_called(std::string_view container, std::string_view wanted);

// Control groups below `hierarchy` that are named after containers, in the order of paths. Folders that cannot be read are
// passed over.
struct ContainerGroup {
  std::filesystem::path path;
  std::string container;

  bool operator==(const ContainerGroup&) const = default;
};
std::vector<ContainerGroup> find_container_groups(const std::filesystem::path& hierarchy);

// The directory of the control group of the only container that is called so.
Result<std::filesystem::path> find_container(const std::string& container);

} // namespace iotrail::capture
