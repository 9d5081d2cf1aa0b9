// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/kernel_source.hpp"

namespace iotrail::capture {

std::vector<store::HookReport> probe_hooks(const std::vector<schema::Layer>& layers) {
  const std::unique_ptr<Source> source = make_kernel_source();
  SourceOptions options;
  options.filter.layers = layers;
  const Result<void> opened = source->open(options);
  return opened ? source->hooks() : store::refused(source->hooks(), opened.error());
}

} // namespace iotrail::capture
