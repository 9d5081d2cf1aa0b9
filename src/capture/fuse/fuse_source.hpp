// SPDX-License-Identifier: BSD-3-Clause
//
// The fuse source: a directory that is mounted elsewhere, in this process. Each request of the kernel is an event of layer
// `fuse`. Needs no privilege beyond /dev/fuse.
#pragma once

#include <memory>

#include "capture/request/request.hpp"
#include "capture/source.hpp"

namespace iotrail::capture {

std::unique_ptr<Source> make_fuse_source(MountOptions options);

// Whether these options can be served. The error names the path, the reason and the remedy.
Result<void> check_mount(const MountOptions& options);
// Whether this user can mount anything at this empty directory, without links in its path.
Result<void> check_mount_point(const std::filesystem::path& point);

} // namespace iotrail::capture
