// SPDX-License-Identifier: BSD-3-Clause
//
// Containers by their runtimes' names. A container is a control group with the container's id or
// name in its own name. Examples: docker-ID.scope, /docker/ID, cri-containerd-ID.scope,
// libpod-ID.scope, lxc.payload.NAME, /lxc/NAME, machine-NAME.scope.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iotrail::capture {

// The innermost container of a control group, by its full id or its name. `group` is the path below
// the hierarchy's root. Empty: none. Accepts any text.
std::string container_of(std::string_view group);

// Whether `container`, a result of container_of(), is called `wanted`: an id may be cut to its
// first 12 digits or more, as in `docker ps`.
bool is_called(std::string_view container, std::string_view wanted);

// Control groups below `hierarchy` with names of containers, sorted by path. Skips unreadable
// directories.
struct ContainerGroup {
  std::filesystem::path path;
  std::string container;

  bool operator==(const ContainerGroup&) const = default;
};
std::vector<ContainerGroup> find_container_groups(const std::filesystem::path& hierarchy);

// The directory of the control group of the only container with that name.
Result<std::filesystem::path> find_container(const std::string& container);

} // namespace iotrail::capture
