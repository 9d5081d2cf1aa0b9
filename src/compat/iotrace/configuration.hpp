// SPDX-License-Identifier: BSD-3-Clause
//
// The configuration of iotrace: a JSON file {"paths":{"trace":DIRECTORY}}. It is $XDG_CONFIG_HOME/iotrail/iotrace.conf, by
// default ~/.config/iotrail/iotrace.conf.
#pragma once

#include <filesystem>

#include "base/result.hpp"

namespace iotrail::compat::iotrace {

std::filesystem::path configuration_path();

// Makes the configured directory, if there is one, the repository of this process (store::repository_path()). Fails if the
// file is damaged. The process must have one thread.
Result<void> use_repository();

// Stores the directory, which must exist. Other members of the file stay.
Result<void> set_repository(const std::filesystem::path& directory);

} // namespace iotrail::compat::iotrace
