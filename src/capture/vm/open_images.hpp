// SPDX-License-Identifier: BSD-3-Clause
//
// The image files that a machine has open. They stay open here, so that their tables can be read
// after the machine has ended. Files are taken from /proc/PID/fd and not by their names, which may
// mean something else by then or in the machine's mount namespace. Only regular files and block
// devices are opened, for reading.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "abi.h"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "capture/vm/qcow2.hpp"
#include "capture/vm/qemu_command.hpp"

namespace iotrail::capture::vm {

struct Image {
  Fd file;          // none: it cannot be read
  std::string path; // in the machine's mount namespace, at first sight
  std::string drive;
  std::string backing; // as the image names it; empty: none
  iot_u32 depth = 0;   // 0: the drive's own image, 1: its backing file, and so on
  iot_u32 format = 0;  // a value of `vm_format`
  iot_u32 device = 0;  // key of its file in events
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;        // of the guest's first byte in a raw image
  std::uint64_t guest_bytes = 0;   // size of the guest's disk; 0: unknown
  std::uint64_t cluster_bytes = 0; // 0: the format has none, or it is unknown
};

// A machine with its images. `proc` may be another directory in tests.
class OpenImages {
public:
  // Fails if the process is gone, or if its open files cannot be seen.
  static Result<OpenImages> of(pid_t pid, const std::string& proc = "/proc");

  // Adds images that the machine has opened since. No effect once it is gone.
  void look();

  pid_t pid() const { return pid_; }
  const std::string& machine() const { return command_.name; }
  const std::vector<Image>& images() const { return images_; }

private:
  struct OpenFile {
    int number = 0; // descriptor in the machine
    dev_t device = 0;
    ino_t inode = 0;
    std::string path;
  };
  struct Wanted {
    std::string drive;
    std::string format;
    iot_u32 depth = 0;
    std::uint64_t offset = 0;
  };

  OpenImages(pid_t pid, std::string directory, QemuCommand command)
      : pid_(pid), directory_(std::move(directory)), command_(std::move(command)) {}
  Result<std::vector<OpenFile>> open_files() const;
  std::optional<OpenFile> find(const std::vector<OpenFile>& files, const std::string& path) const;
  void add(const std::vector<OpenFile>& files, const OpenFile& file, const Wanted& wanted);
  void add_images(const std::vector<OpenFile>& files);
  Image open_image(const OpenFile& file, const Wanted& wanted) const;

  pid_t pid_;
  std::string directory_; // /proc/PID
  QemuCommand command_;
  std::vector<Image> images_;
  std::vector<std::pair<dev_t, ino_t>> known_; // of images_
};

// The map of an image as it is now. Reduces the budget.
ImageMap read_image_map(const Image& image, MapBudget& budget);

} // namespace iotrail::capture::vm
