// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of QEMU: the name of the machine, and the image files of its drives. It knows
// -drive, -blockdev, -device and the short options (-hda), each as JSON or as KEY=VALUE,...
// A command line can be forged: any text is accepted, and the number of images is bounded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace iotrail::capture::vm {

struct DriveImage {
  std::string drive;        // id of the guest's device, else of the drive
  std::uint32_t depth = 0;  // 0: the drive's own image, 1: its backing file, and so on
  std::string file;         // path as given
  std::string format;       // as given; empty: QEMU detects it
  std::uint64_t offset = 0; // position of the guest's first byte in a raw image
};

struct QemuCommand {
  std::string name; // empty: none
  std::vector<DriveImage> images;
  std::map<std::string, int> descriptors; // by "/dev/fdset/N": libvirt passes open files
};

QemuCommand parse_qemu_command(const std::vector<std::string>& words);

// The path in the name of an image: "/a", "file:/a", "json:{...}". Other protocols stay as they
// are.
std::string path_of_image(std::string_view name);

// Whether a program of this name runs a machine: "qemu-system-x86_64".
bool is_qemu(std::string_view program);

} // namespace iotrail::capture::vm
