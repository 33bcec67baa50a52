// SPDX-License-Identifier: Apache-2.0
// Compares screenshots. Chromium rounds the colours of rounded corners by how
// it divides the page into tiles, so that single steps are no difference.
import { inflateSync } from 'node:zlib';

/** The pixels of a PNG with 8 bits per channel: { width, height, channels, bytes }. */
export function decodePng(png) {
  const parts = [];
  let head;

  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const data = png.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR')
      head = { width: data.readUInt32BE(0), height: data.readUInt32BE(4), channels: { 2: 3, 6: 4 }[data[9]] };
    if (type === 'IDAT') parts.push(data);
    at += 12 + length;
  }
  const raw = inflateSync(Buffer.concat(parts));
  const row = head.width * head.channels;
  const bytes = Buffer.alloc(row * head.height);
  for (let y = 0; y < head.height; y++) {
    const filter = raw[y * (row + 1)];
    for (let x = 0; x < row; x++) {
      const a = x >= head.channels ? bytes[y * row + x - head.channels] : 0;
      const b = y ? bytes[(y - 1) * row + x] : 0;
      const c = y && x >= head.channels ? bytes[(y - 1) * row + x - head.channels] : 0;
      const p = a + b - c;
      const paeth =
        Math.abs(p - a) <= Math.abs(p - b) && Math.abs(p - a) <= Math.abs(p - c)
          ? a
          : Math.abs(p - b) <= Math.abs(p - c)
            ? b
            : c;
      bytes[y * row + x] = raw[y * (row + 1) + 1 + x] + [0, a, b, (a + b) >> 1, paeth][filter];
    }
  }
  return { ...head, bytes };
}

/** Chromium rounds corners by the tile in which they are: an eye does not see so little. */
const unseen = 2;

/** "" if two screenshots are the same, else where they differ. */
export function pictureDifference(before, after) {
  const a = decodePng(before);
  const b = decodePng(after);

  if (a.width !== b.width || a.height !== b.height) return `${a.width}x${a.height} and ${b.width}x${b.height}`;
  for (let i = 0; i < a.bytes.length; i++) {
    if (Math.abs(a.bytes[i] - b.bytes[i]) > unseen) {
      const pixel = Math.floor(i / a.channels);
      return `pixel ${pixel % a.width},${Math.floor(pixel / a.width)}: ${a.bytes[i]} and ${b.bytes[i]}`;
    }
  }
  return '';
}
