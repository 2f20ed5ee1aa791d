// The upstream's file store: upload of clients' attachments, download of generated files
// (upstream.md 8).

import type { NativeOptions } from '../../protocols/native/options.ts'
import { readHeader } from '../../protocols/shared/errors/response-header.ts'
import { protocolFailure } from '../http/call-failure.ts'
import type { ProviderClient } from '../http/client.ts'
import type { CallContext } from '../types.ts'
import { writeMultipart } from './attachments/multipart.ts'

export interface FileUpload {
  bytes: Uint8Array
  filename: string
  mediaType: string
}

export interface DownloadedFile {
  bytes: Uint8Array
  /** Without parameters; absent when the upstream named none. */
  mediaType?: string
}

export interface FileCalls {
  /** Stores a file and resolves with its id. Rejects with `GatewayError`. */
  upload(file: FileUpload, context: CallContext): Promise<string>
  /** Resolves with a file's bytes, at most `bytesMax`. Rejects with `GatewayError`. */
  download(fileId: string, context: CallContext, bytesMax: number): Promise<DownloadedFile>
}

export function createFileCalls(
  client: Pick<ProviderClient, 'fetch' | 'fetchJson'>,
  { v1Base }: Pick<NativeOptions, 'v1Base'>
): FileCalls {
  const path = `${v1Base}/files`
  return {
    async upload(file, context) {
      const { contentType, body } = writeMultipart({ purpose: 'general' }, file)
      const headers = ['content-type', contentType]
      return client.fetchJson({ operation: 'upload', method: 'POST', path, headers, body }, context, readFileId)
    },
    async download(fileId, context, bytesMax) {
      const response = await client.fetch(
        {
          operation: 'download',
          method: 'GET',
          path: `${path}/${encodeURIComponent(fileId)}/content`,
          headers: ['accept', 'application/jpg']
        },
        context,
        bytesMax
      )
      const mediaType = readHeader(response.headers, 'content-type')?.split(';', 1)[0]?.trim()
      const file: DownloadedFile = { bytes: response.bytes }
      if (mediaType !== undefined && mediaType !== '') file.mediaType = mediaType
      return file
    }
  }
}

function readFileId(body: unknown): string {
  if (typeof body === 'object' && body !== null && 'id' in body) {
    if (typeof body.id === 'string' && body.id !== '') return body.id
  }
  throw protocolFailure('invalid_file_response')
}
