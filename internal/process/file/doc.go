// Package file has what processes do with small files: replace one so that
// readers and a power cut see the old content or the new one, hold the parsed
// content of one that people edit meanwhile, read YAML strictly, and read the
// sizes that people write in them.
package file
