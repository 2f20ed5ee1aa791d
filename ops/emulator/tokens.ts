// Counts and cuts text in deterministic tokens of the emulator: up to eight letters of a word, or one punctuation mark.

const TOKEN_LETTERS_MAX = 8

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 160
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code > 160
}

/**
 * Walks over the first `limit` tokens of a text.
 * @returns the number of tokens (at most `limit`) and the index at which they end.
 */
function walkTokens(text: string, limit: number): { tokens: number; end: number } {
  let tokens = 0
  let letters = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const letter = isLetter(code)
    if (letter && letters > 0 && letters < TOKEN_LETTERS_MAX) {
      letters++
      continue
    }
    letters = letter ? 1 : 0
    if (isSpace(code)) continue
    if (tokens === limit) return { tokens, end: index }
    tokens++
  }
  return { tokens, end: text.length }
}

/** Counts the tokens of a text. Deterministic. */
export function countTokens(text: string): number {
  return walkTokens(text, Number.POSITIVE_INFINITY).tokens
}

/** Returns the first `tokensMax` tokens of a text; a text that is cut also loses its trailing white space. */
export function cutToTokens(text: string, tokensMax: number): string {
  const { end } = walkTokens(text, tokensMax)
  if (end === text.length) return text
  // Half of a surrogate pair cannot be encoded as UTF-8, so a pair at the cut is dropped.
  const last = text.charCodeAt(end - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? end - 1 : end).trimEnd()
}

/** Counts Unicode code points, which the upstream calls characters. */
export function countCharacters(text: string): number {
  let characters = text.length
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code >= 0xd800 && code <= 0xdbff) characters--
  }
  return characters
}

/** Cuts a text into `count` pieces of nearly equal length (fewer for a shorter text), never inside a surrogate pair. */
export function splitEvenly(text: string, count: number): string[] {
  const pieces: string[] = []
  const size = Math.max(1, text.length / count)
  let start = 0
  for (let index = 1; index <= count && start < text.length; index++) {
    let end = index === count ? text.length : Math.min(text.length, Math.round(index * size))
    if (end <= start) continue
    const last = text.charCodeAt(end - 1)
    if (last >= 0xd800 && last <= 0xdbff) end++
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}

const PIECE_LENGTH_MIN = 12
const PIECES_MAX = 200

/** Cuts a text as a model streams it: at white space, into pieces of at least 12 characters and about 200 pieces at most. */
export function splitIntoDeltas(text: string): string[] {
  const target = Math.max(PIECE_LENGTH_MIN, Math.ceil(text.length / PIECES_MAX))
  const pieces: string[] = []
  let start = 0
  while (start < text.length) {
    let end = Math.min(text.length, start + target)
    const limit = Math.min(text.length, end + target)
    while (end < limit && !isSpace(text.charCodeAt(end))) end++
    const last = text.charCodeAt(end - 1)
    if (last >= 0xd800 && last <= 0xdbff && end < text.length) end++
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}

/** Cuts a text into pieces of this length, never inside a surrogate pair. */
export function cutText(text: string, length: number): string[] {
  const pieces: string[] = []
  let from = 0
  while (from < text.length) {
    let to = Math.min(text.length, from + length)
    const last = text.charCodeAt(to - 1)
    if (last >= 0xd800 && last <= 0xdbff && to < text.length) to++
    pieces.push(text.slice(from, to))
    from = to
  }
  return pieces
}
