// How large the input of a request is, before any tokenizer has seen it.

import { measureRequest, type NormalizedRequest } from '../normalized/index.ts'

export interface InputSize {
  /** Characters of all texts, calls, results and declarations, but for those below. */
  ascii: number
  /** Characters of other alphabets: longer in bytes, and hardly shorter in tokens. */
  letters: number
  /** Ideographs, syllables and symbols, of which a token holds one or two. */
  ideographs: number
  /** Blanks behind a blank: a token holds many. */
  repeatedBlanks: number
  /** Images and files, whose tokens do not follow from their bytes. */
  mediaCount: number
}

/** Measures what the model has to read. Costs a look at every character. */
export function measureInput(request: NormalizedRequest): InputSize {
  const size: InputSize = { ascii: 0, letters: 0, ideographs: 0, repeatedBlanks: 0, mediaCount: 0 }
  measureRequest(request, {
    addText: text => addText(size, text),
    addMedia() {
      size.mediaCount += 1
    }
  })
  return size
}

const BLANK = 0x20
const ASCII_END = 0x80
/** Alphabets stand before it; ideographs, syllables, and the halves of emoji behind it. */
const ALPHABETS_END = 0x2000

function addText(size: InputSize, text: string): void {
  let isBehindBlank = false
  let repeatedBlanks = 0
  let letters = 0
  let ideographs = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code >= ALPHABETS_END) ideographs += 1
    else if (code >= ASCII_END) letters += 1
    else if (code <= BLANK && isBehindBlank) repeatedBlanks += 1
    isBehindBlank = code <= BLANK
  }
  size.ascii += text.length - letters - ideographs - repeatedBlanks
  size.letters += letters
  size.ideographs += ideographs
  size.repeatedBlanks += repeatedBlanks
}

// Measured with the public vocabularies of two generations. A token stands for some four characters of prose or code; files of data have
// shorter ones, plain words longer ones. Older vocabularies have shorter ones for all but Latin letters.
const LIKELY_ASCII = 3.5
const LIKELY_LETTERS = 2.5
const LIKELY_IDEOGRAPHS = 1.2
/** Of prose that is easy to tokenize. */
const MOST_CHARACTERS = 6
const MOST_IDEOGRAPHS = 2.5
/** What services count for an image of usual size. */
const LIKELY_MEDIA_TOKENS = 1000

/** An estimate that is rather too large, and one that hardly any tokenizer stays below. */
export function estimateInputTokens(size: InputSize): { likely: number; least: number } {
  const { ascii, letters, ideographs, repeatedBlanks, mediaCount } = size
  const likely = (ascii + repeatedBlanks) / LIKELY_ASCII + letters / LIKELY_LETTERS + ideographs / LIKELY_IDEOGRAPHS
  const least = (ascii + letters) / MOST_CHARACTERS + ideographs / MOST_IDEOGRAPHS
  return { likely: Math.ceil(likely) + mediaCount * LIKELY_MEDIA_TOKENS, least: Math.floor(least) }
}

/** The tokens of a body that is not read: as many as of one in Latin letters, which other scripts hardly exceed. */
export function estimateBodyTokens(bytes: number): number {
  return Math.ceil(bytes / LIKELY_ASCII)
}
