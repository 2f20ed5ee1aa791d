// One reader per directive, which reads its value into a step.

import { malformedMessagesNames } from './anthropic/malformed.ts'
import {
  type DirectiveError,
  HANG_BEFORE_HEADERS,
  reasoningForms,
  type Step,
  shapeNames,
  strictNames,
  usageForms
} from './directive-steps.ts'
import { asJson, type JsonValue } from './json.ts'
import { malformedNames } from './openai/malformed.ts'
import { malformedResponsesNames } from './responses/malformed.ts'

const WAIT_MS_MAX = 600_000
const CHUNKS_MAX = 100_000
const BIG_TEXT_BYTES_MAX = 64 * 1024 * 1024

/** Reads the value of one directive into a step; returns false for an invalid value. */
type Reader = (step: Step, value: string) => boolean

function flag(set: (step: Step) => void): Reader {
  return (step, value) => {
    if (value !== '') return false
    set(step)
    return true
  }
}

function number(
  set: (step: Step, value: number) => void,
  limits: { min: number; max: number; absent?: number }
): Reader {
  return (step, value) => {
    const parsed = value === '' ? limits.absent : Number(value)
    if (parsed === undefined || !Number.isInteger(parsed)) return false
    if (value !== '' && (parsed < limits.min || parsed > limits.max)) return false
    set(step, parsed)
    return true
  }
}

function word(set: (step: Step, value: string) => void): Reader {
  return (step, value) => {
    if (value === '') return false
    set(step, value)
    return true
  }
}

/** A reader that accepts only these words. */
function oneOf<Word extends string>(words: readonly Word[], set: (step: Step, value: Word) => void): Reader {
  return (step, value) => {
    const found = words.find(one => one === value)
    if (found === undefined) return false
    set(step, found)
    return true
  }
}

/** Decodes a value that is a JSON string; returns any other value unchanged. */
function readText(value: string): string {
  if (!value.startsWith('"')) return value
  const parsed = parseJson(value)
  return typeof parsed === 'string' ? parsed : value
}

function readTool(step: Step, value: string): boolean {
  const match = /^\s*([^\s{]+)\s*([\s\S]*)$/.exec(value)
  if (match?.[1] === undefined) return false
  const source = match[2] ?? ''
  const parsed = source === '' ? {} : parseJson(source)
  if (parsed === undefined) return false
  step.calls.push({ name: match[1], arguments: parsed })
  return true
}

function readChunks(step: Step, value: string): boolean {
  const parsed = value.startsWith('[') ? parseJson(value) : undefined
  if (Array.isArray(parsed) && parsed.every(item => typeof item === 'string')) step.chunks = parsed
  else step.chunks = value.split('|')
  return true
}

function readUsage(step: Step, value: string): boolean {
  const match = /^\s*(\d{1,9})\s*,\s*(\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?$/.exec(value)
  if (match === null) return false
  step.usage = {
    input: Number(match[1]),
    output: Number(match[2]),
    cached: Number(match[3] ?? 0)
  }
  return true
}

/**
 * Reads `STATUS [retry=VALUE] [html|json] [message=REST]`. A `retry` value with spaces needs double quotes; the message is
 * the rest of the text. Returns undefined for an invalid value.
 */
function parseError(value: string): DirectiveError | undefined {
  const head = /^\s*(\d{3})(?=\s|$)/.exec(value)
  if (head === null) return undefined
  const status = Number(head[1])
  if (status < 201 || status > 599) return undefined
  const words = value.slice(head[0].length)
  const message = /(?:^|\s)message=([\s\S]*)$/.exec(words)
  const options = message === null ? words : words.slice(0, message.index)
  const retry = /(?:^|\s)retry=(?:"([^"]*)"|(\S+))/.exec(options)
  const isJson = /(?:^|\s)json(?=\s|$)/.test(options)
  const isHtml = /(?:^|\s)html(?=\s|$)/.test(options)
  return {
    status,
    message: message === null ? null : readText((message[1] ?? '').trim()),
    retryAfter: retry === null ? null : (retry[1] ?? retry[2] ?? null),
    // A real 502 or 504 comes from a proxy in front of the upstream, which sends an HTML page.
    isHtml: isHtml || ((status === 502 || status === 504) && !isJson && message === null)
  }
}

function readError(step: Step, value: string): boolean {
  const error = parseError(value)
  if (error === undefined) return false
  step.error = error
  return true
}

/** Reads `MEMBER [STATUS]`. */
function readRefuse(step: Step, value: string): boolean {
  const match = /^\s*([A-Za-z0-9_]+)(?:\s+(4\d\d))?\s*$/.exec(value)
  if (match?.[1] === undefined) return false
  step.refusedMember = { name: match[1], status: Number(match[2] ?? 422) }
  return true
}

/** Reads `NAME,NAME`. */
function readStrict(step: Step, value: string): boolean {
  const names = value.split(',').map(name => strictNames.find(known => known === name.trim()))
  if (!names.every(name => name !== undefined)) return false
  step.strict = names
  return true
}

/** Reads `URL [TITLE]`. */
function readCitation(step: Step, value: string): boolean {
  const match = /^\s*(\S+)(?:\s+([\s\S]*\S))?\s*$/.exec(value)
  if (match?.[1] === undefined) return false
  step.citations = [...(step.citations ?? []), { url: match[1], title: match[2] ?? match[1] }]
  return true
}

function readFlaky(step: Step, value: string): boolean {
  const match = /^\s*(\d{1,4}):([\s\S]*)$/.exec(value)
  const error = match === null ? undefined : parseError(match[2] ?? '')
  if (match === null || error === undefined) return false
  step.flaky = { times: Number(match[1]), error }
  return true
}

function readErrorFrame(step: Step, value: string): boolean {
  const error = value === '' ? { status: 500, message: null } : parseError(value)
  if (error === undefined) return false
  step.errorFrame = {
    status: error.status,
    message: error.message ?? 'Internal Server Error'
  }
  return true
}

function readErrorInBody(step: Step, value: string): boolean {
  const error = parseError(value)
  if (error === undefined) return false
  step.errorInBody = error
  return true
}

/** Reads `[STATUS] URL`. */
function readRedirect(step: Step, value: string): boolean {
  const match = /^\s*(?:(30[12378])\s+)?(\S+)\s*$/.exec(value)
  if (match?.[2] === undefined) return false
  step.redirect = { status: Number(match[1] ?? 302), location: match[2] }
  return true
}

function readBuiltin(step: Step, value: string): boolean {
  const [name, ...options] = value.trim().split(/\s+/)
  if (name === undefined || name === '') return false
  const isCensored = options.includes('censored')
  step.builtins.push({
    name,
    status: options.find(option => option !== 'censored') ?? 'success',
    isCensored
  })
  return true
}

function readDie(step: Step, value: string): boolean {
  if (value === '') step.breakAfterFrames = 'middle'
  else if (/^\d{1,6}$/.test(value)) step.breakAfterFrames = Number(value)
  else return false
  return true
}

function readHeader(step: Step, value: string): boolean {
  const match = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=([\t\x20-\x7e]*)$/.exec(value)
  if (match?.[1] === undefined) return false
  step.headers = {
    ...step.headers,
    [match[1].toLowerCase()]: (match[2] ?? '').trim()
  }
  return true
}

function readCreated(step: Step, value: string): boolean {
  if (value !== 'string' && value !== 'alias') return false
  step.createdForm = value
  return true
}

function setText(set: (step: Step, value: string) => void): Reader {
  return (step, value) => {
    set(step, readText(value))
    return true
  }
}

const wait = { min: 0, max: WAIT_MS_MAX }

/** The readers by directive name. */
export const readers: Record<string, Reader> = {
  text: setText((step, value) => {
    step.text = value
  }),
  chunks: readChunks,
  len: number(
    (step, value) => {
      step.chunkCount = value
    },
    { min: 1, max: CHUNKS_MAX }
  ),
  bigtext: number(
    (step, value) => {
      step.bigTextBytes = value
    },
    { min: 0, max: BIG_TEXT_BYTES_MAX }
  ),
  recall: flag(step => {
    step.recall = true
  }),
  reason: setText((step, value) => {
    step.reasoning = value === '' ? 'First I look at the question, then I answer it.' : value
  }),
  tool: readTool,
  undeclared: flag(step => {
    step.allowUndeclared = true
  }),
  parallel: flag(step => {
    step.parallel = true
  }),
  builtin: readBuiltin,
  finish: word((step, value) => {
    step.finishReason = value
  }),
  usage: readUsage,
  nousage: flag(step => {
    step.noUsage = true
  }),

  cite: readCitation,

  callsplit: flag(step => {
    step.callInOwnDelta = true
  }),
  msgcall: flag(step => {
    step.callOnMessage = true
  }),
  multimsg: flag(step => {
    step.callsInOwnMessages = true
  }),
  partids: flag(step => {
    step.callPartIds = true
  }),
  stringargs: flag(step => {
    step.stringArguments = true
  }),
  argfrag: number(
    (step, value) => {
      step.argumentPieceLength = value
    },
    { min: 1, max: 65_536, absent: 4 }
  ),
  nostate: flag(step => {
    step.noStateId = true
  }),
  statekey: word((step, value) => {
    step.stateIdKey = value
  }),
  norole: flag(step => {
    step.noRole = true
  }),
  created: readCreated,
  omit: word((step, value) => {
    step.omit = value.split(',').map(name => name.trim())
  }),
  extra: flag(step => {
    step.extra = true
  }),
  shape: oneOf(shapeNames, (step, value) => {
    step.shape = value
  }),
  reasonform: oneOf(reasoningForms, (step, value) => {
    step.reasoningForm = value
  }),
  usageform: oneOf(usageForms, (step, value) => {
    step.usageForm = value
  }),
  refusal: setText((step, value) => {
    step.refusal = value === '' ? 'I cannot help with that.' : value
  }),
  legacycall: flag(step => {
    step.legacyCall = true
  }),
  wholecall: flag(step => {
    step.callInOneDelta = true
  }),
  interleave: flag(step => {
    step.callsInterleaved = true
  }),
  noindex: flag(step => {
    step.callsWithoutIndex = true
  }),
  repeathead: flag(step => {
    step.callHeadRepeated = true
  }),
  emptyfinish: flag(step => {
    step.emptyFinishReasons = true
  }),
  nofinish: flag(step => {
    step.noFinishReason = true
  }),

  error: readError,
  flaky: readFlaky,
  refuse: readRefuse,
  strict: readStrict,
  hang: number(
    (step, value) => {
      step.hangAfterFrames = value
    },
    { min: 0, max: CHUNKS_MAX, absent: HANG_BEFORE_HEADERS }
  ),
  die: readDie,
  badjson: (step, value) => {
    step.badJson = readText(value)
    return true
  },
  noeof: flag(step => {
    step.noTerminal = true
  }),
  nodone: flag(step => {
    step.noDone = true
  }),
  badframe: flag(step => {
    step.badFrame = true
  }),
  errframe: readErrorFrame,
  okerror: readErrorInBody,
  redirect: readRedirect,
  malformed: oneOf([...malformedNames, ...malformedMessagesNames, ...malformedResponsesNames], (step, value) => {
    step.malformed = value
  }),
  ctype: word((step, value) => {
    step.contentType = value
  }),

  slow: number((step, value) => {
    step.slowMs = value
  }, wait),
  tick: number((step, value) => {
    step.tickMs = value
  }, wait),
  split: number(
    (step, value) => {
      step.bytesPerWrite = value
    },
    { min: 1, max: 65_536, absent: 1 }
  ),
  crlf: flag(step => {
    step.crlf = true
  }),
  ping: flag(step => {
    step.ping = true
  }),
  noname: flag(step => {
    step.noEventName = true
  }),
  nospace: flag(step => {
    step.noSpace = true
  }),
  multiline: flag(step => {
    step.multiLine = true
  }),
  done: flag(step => {
    step.doneMarker = true
  }),
  gzip: flag(step => {
    step.gzip = true
  }),
  bom: flag(step => {
    step.byteOrderMark = true
  }),
  header: readHeader
}

function parseJson(source: string): JsonValue | undefined {
  try {
    return asJson(JSON.parse(source))
  } catch {
    return undefined
  }
}
