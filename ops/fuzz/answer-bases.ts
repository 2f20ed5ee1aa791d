// The valid responses of the upstream that mutations start from, in the pieces that they consist of.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readUpstreamAnswers } from '../compare/corpus/recorded.ts'
import { type Tree, writeTree } from './json-tree.ts'

/** A frame of a stream, or a whole body: a document with the text around it, or text alone. */
export interface Block {
  before: string
  tree: Tree
  after: string
}

export interface AnswerBase {
  name: string
  /** End of the upstream's path. */
  path: '/chat/completions' | '/embeddings' | '/tokens/count' | '/files'
  /** Undefined for both. */
  version: 'v1' | 'v2' | undefined
  isStream: boolean
  status: number
  blocks: Block[]
}

interface Exchange {
  response: { status: number; body: Tree }
}

export function readAnswerBases(): AnswerBase[] {
  const chats = readUpstreamAnswers().map(({ name, version, isStream, status, bytes }): AnswerBase => {
    const text = Buffer.from(bytes, 'latin1').toString('utf8')
    const blocks = isStream ? text.split(/(?<=\n\r?\n)/).map(readFrame) : [readWhole(text)]
    return { name, path: '/chat/completions', version, isStream, status, blocks }
  })
  return [
    ...chats,
    ...readOthers('/embeddings', /^embeddings_/),
    ...readOthers('/tokens/count', /^tokens_count_/),
    {
      name: 'an uploaded file',
      path: '/files',
      version: undefined,
      isStream: false,
      status: 200,
      blocks: [{ before: '', tree: { id: 'f1', object: 'file', bytes: 1, created_at: 1, filename: 'a' }, after: '' }]
    }
  ]
}

export function writeBlock({ before, tree, after }: Block): string {
  return `${before}${tree === undefined ? '' : writeTree(tree)}${after}`
}

function readOthers(path: AnswerBase['path'], file: RegExp): AnswerBase[] {
  const folder = join(import.meta.dirname, '..', '..', 'test', 'fixtures', 'recorded')
  const files = readdirSync(folder).filter(name => file.test(name))
  return files.flatMap(name =>
    (JSON.parse(readFileSync(join(folder, name), 'utf8')) as Exchange[]).map(({ response }) => ({
      name,
      path,
      version: undefined,
      isStream: false,
      status: response.status,
      blocks: [{ before: '', tree: response.body, after: '' }]
    }))
  )
}

/** A frame whose data is one line of JSON; any other frame is text. */
function readFrame(text: string): Block {
  const [, before = '', data = '', after = ''] = /^(.*?data: ?)(\{[^\n]*\})(\r?\n.*)$/s.exec(text) ?? []
  const tree = parse(data)
  return tree === undefined ? { before: text, tree, after: '' } : { before, tree, after }
}

function readWhole(text: string): Block {
  const tree = parse(text)
  return tree === undefined ? { before: text, tree, after: '' } : { before: '', tree, after: '' }
}

function parse(text: string): Tree {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
