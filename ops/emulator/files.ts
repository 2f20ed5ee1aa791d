// The file store: uploads, generated pictures and 3D models, visible to their own account only.
import { randomUUID } from 'node:crypto'
import { badRequest, UpstreamError, unprocessable } from './errors.ts'
import type { ReceivedForm } from './multipart.ts'

export interface StoredFile {
  id: string
  object: 'file'
  bytes: number
  access_policy: 'private'
  created_at: number
  filename: string
  purpose: string
}

interface Entry {
  account: string
  file: StoredFile
  contentType: string
  content: Buffer
}

const FILES_MAX = 1000
const FILE_BYTES_MAX = 256 * 1024 * 1024
const purposes = ['general', 'assistant']

export interface FileStore {
  add: (input: {
    account: string
    filename: string
    contentType: string
    content: Buffer
    purpose?: string
  }) => StoredFile
  list: (account: string) => StoredFile[]
  has: (account: string, id: string) => boolean
  /** @throws UpstreamError 404 when the account has no such file. */
  info: (account: string, id: string) => StoredFile
  /** @throws UpstreamError 404 when the account has no such file. */
  content: (account: string, id: string) => { contentType: string; content: Buffer }
  /** @throws UpstreamError 404 when the account has no such file. */
  remove: (account: string, id: string) => { id: string; object: 'file'; deleted: true }
}

/** Creates a store of at most 1000 files and 256 MiB; beyond that the oldest files are removed. */
export function createFileStore(now: () => number): FileStore {
  const entries = new Map<string, Entry>()
  let bytes = 0

  const drop = (id: string) => {
    bytes -= entries.get(id)?.content.length ?? 0
    entries.delete(id)
  }
  const find = (account: string, id: string): Entry => {
    const entry = entries.get(id)
    if (entry === undefined || entry.account !== account) throw new UpstreamError(404, 'No such file')
    return entry
  }

  return {
    add(input) {
      const file: StoredFile = {
        id: randomUUID(),
        object: 'file',
        bytes: input.content.length,
        access_policy: 'private',
        created_at: Math.floor(now() / 1000),
        filename: input.filename,
        purpose: input.purpose ?? 'general'
      }
      entries.set(file.id, { account: input.account, file, contentType: input.contentType, content: input.content })
      bytes += input.content.length
      for (const id of entries.keys()) {
        if (id === file.id || (entries.size <= FILES_MAX && bytes <= FILE_BYTES_MAX)) break
        drop(id)
      }
      return file
    },
    list: account => [...entries.values()].filter(entry => entry.account === account).map(entry => entry.file),
    has: (account, id) => entries.get(id)?.account === account,
    info: (account, id) => find(account, id).file,
    content: (account, id) => find(account, id),
    remove(account, id) {
      find(account, id)
      drop(id)
      return { id, object: 'file', deleted: true }
    }
  }
}

/** Stores the file of an upload form. Throws UpstreamError 400 without a file and 422 for an unknown purpose. */
export function storeUpload(store: FileStore, account: string, form: ReceivedForm): StoredFile {
  const file = form.files.find(entry => entry.field === 'file')
  if (file === undefined) throw badRequest('file is required')
  const purpose = form.fields.purpose ?? 'general'
  if (!purposes.includes(purpose)) throw unprocessable('purpose must be general or assistant')
  const contentType = file.contentType === '' ? 'application/octet-stream' : file.contentType
  return store.add({ account, filename: file.filename, contentType, content: file.content, purpose })
}
