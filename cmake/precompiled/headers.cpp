// SPDX-License-Identifier: BSD-3-Clause
// A precompiled header belongs to a target, and a target needs a source.
