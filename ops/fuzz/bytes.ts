// Changes of bytes, kept as data so that a failing case can lose them one by one.

import type { Random } from './random.ts'

export interface ByteEdit {
  kind: 'cut' | 'flip' | 'insert' | 'remove' | 'repeat'
  /** The place, as a share of the length. */
  at: number
  bytes: Buffer
}

const INSERTED = [
  Buffer.from([0]),
  Buffer.from([0xff]),
  Buffer.from([0xc3]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from([0xf4, 0x90, 0x80, 0x80]),
  Buffer.from([0xef, 0xbb, 0xbf]),
  Buffer.from('\n\n'),
  Buffer.from('\r'),
  Buffer.from('"'),
  Buffer.from('}'),
  Buffer.from('\\ud800'),
  Buffer.from('data: '),
  Buffer.alloc(5000, 0x20)
]

/** One to three edits. */
export function createEdits(random: Random): ByteEdit[] {
  return Array.from({ length: 1 + random.below(3) }, () => createEdit(random))
}

function createEdit(random: Random): ByteEdit {
  // A byte order mark is one only at the start.
  if (random.chance(0.1)) return { kind: 'insert', at: 0, bytes: Buffer.from([0xef, 0xbb, 0xbf]) }
  const kind = random.pick(['cut', 'flip', 'flip', 'insert', 'insert', 'remove', 'repeat'] as const)
  const bytes = kind === 'flip' ? Buffer.from([1 << random.below(8)]) : random.pick(INSERTED)
  return { kind, at: random.next(), bytes }
}

/** The bytes after all edits, in order. */
export function applyEdits(bytes: Buffer, edits: readonly ByteEdit[]): Buffer {
  return edits.reduce(applyEdit, bytes)
}

function applyEdit(bytes: Buffer, edit: ByteEdit): Buffer {
  const at = Math.floor(edit.at * bytes.length)
  const before = bytes.subarray(0, at)
  switch (edit.kind) {
    case 'cut':
      return before
    case 'insert':
      return Buffer.concat([before, edit.bytes, bytes.subarray(at)])
    case 'remove':
      return Buffer.concat([before, bytes.subarray(at + edit.bytes.length)])
    case 'repeat':
      return Buffer.concat([bytes.subarray(0, at + 40), bytes.subarray(at)])
    case 'flip': {
      const copy = Buffer.from(bytes)
      if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (edit.bytes[0] ?? 1)
      return copy
    }
  }
}

/** Cuts bytes into a few pieces at random places. */
export function cutIntoPieces(bytes: Buffer, random: Random, piecesMax: number): Buffer[] {
  const places = Array.from({ length: random.below(piecesMax) }, () => random.below(bytes.length + 1))
  const borders = [0, ...places.sort((a, b) => a - b), bytes.length]
  return borders.slice(1).map((end, index) => bytes.subarray(borders[index], end))
}
