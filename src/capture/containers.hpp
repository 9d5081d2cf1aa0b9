// SPDX-License-Identifier: BSD-3-Clause
//
// Containers by what their runtimes call them. Each is a control group whose name has the container's id, or its name, at
// the end: docker-ID.scope, /docker/ID, cri-containerd-ID.scope, libpod-ID.scope, lxc.payload.NAME, machine-NAME.scope.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iotrail::capture {

// Of the last part of a control group's path. An id may be cut to its first 12 digits, or more, as `docker ps` shows it.
bool is_group_of_container(std::string_view group, std::string_view container);

// Paths of the control groups below `hierarchy`, the outermost ones. Several: what was asked for is ambiguous. Folders that
// cannot be read are passed over.
std::vector<std::filesystem::path> groups_of_container(const std::filesystem::path& hierarchy,
                                                       std::string_view container);

// The directory of the control group of the only container that is called so.
Result<std::filesystem::path> find_container(const std::string& container);

} // namespace iotrail::capture
