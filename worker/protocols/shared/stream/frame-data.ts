// Replaces the data of one whole frame of server-sent events; everything else of the frame stays as it came.

/** What the data become; the same bytes where they stay. */
export type EditData = (data: Buffer) => Buffer

/**
 * The frame with edited data; the same frame where they stay, and where it has none. Data in several lines are edited as one, and stand in
 * the first of the lines afterwards.
 */
export function editFrameData(frame: Buffer, edit: EditData): Buffer {
  const lines = listDataLines(frame)
  const [first] = lines
  if (first === undefined) return frame
  const data = readData(frame, lines)
  const edited = edit(data)
  if (edited === data) return frame
  const last = lines.at(-1) ?? first
  return Buffer.concat([frame.subarray(0, first.start), edited, frame.subarray(last.end)])
}

/**
 * Proxies in front of some services add the end mark of chat completions to other wires, whose SDKs
 * cannot read it (field-lessons.md A17).
 * @returns whether the frame is that mark and nothing else.
 */
export function isEndMark(frame: Buffer): boolean {
  return frame.length <= END_MARK_FRAME_BYTES_MAX && frame.toString('utf8').trim() === END_MARK
}

const END_MARK = 'data: [DONE]'
const END_MARK_FRAME_BYTES_MAX = 32

/** The data of a frame; undefined where it has none. */
export function findFrameData(frame: Buffer): Buffer | undefined {
  const lines = listDataLines(frame)
  return lines.length === 0 ? undefined : readData(frame, lines)
}

/** JSON has no line feeds in its texts, so that the lines may be joined by any blank. */
function readData(frame: Buffer, lines: readonly Line[]): Buffer {
  const [first] = lines
  if (first !== undefined && lines.length === 1) return frame.subarray(first.start, first.end)
  return Buffer.concat(lines.flatMap(({ start, end }) => [frame.subarray(start, end), BLANK]))
}

const BLANK = Buffer.from(' ')

interface Line {
  start: number
  end: number
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const SPACE = 32
const DATA = Buffer.from('data:')

/** The values of the `data` lines of a frame. */
function listDataLines(frame: Buffer): Line[] {
  const lines: Line[] = []
  let start = 0
  let carriageReturn = findByte(frame, CARRIAGE_RETURN, 0)
  while (start < frame.length) {
    if (carriageReturn < start) carriageReturn = findByte(frame, CARRIAGE_RETURN, start)
    const end = Math.min(findByte(frame, LINE_FEED, start), carriageReturn)
    let value = start + DATA.length
    if (value <= end && DATA.compare(frame, start, value) === 0) {
      if (value < end && frame[value] === SPACE) value++
      lines.push({ start: value, end })
    }
    start = end + 1
  }
  return lines
}

function findByte(bytes: Buffer, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from)
  return found < 0 ? bytes.length : found
}
