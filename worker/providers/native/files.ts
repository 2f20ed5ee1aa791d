// The upstream's file store: upload of what clients attach, download of what the upstream made (upstream contract, section 8).

import { protocolFailure } from '../http/call-failure.ts'
import type { UpstreamClient } from '../http/client.ts'
import { ANSWER_BYTES_MAX, readHeader, readJson } from '../http/whole-response.ts'
import type { CallContext, DownloadedFile } from '../types.ts'
import { writeMultipart } from './attachments/multipart.ts'

export interface FileUpload {
  bytes: Uint8Array
  filename: string
  mediaType: string
}

export interface FileCalls {
  /** Stores a file and resolves with its id. Rejects with `GatewayError`. */
  upload(file: FileUpload, context: CallContext): Promise<string>
  /** Resolves with a file's bytes, at most 64 MiB. Rejects with `GatewayError`. */
  download(fileId: string, context: CallContext): Promise<DownloadedFile>
}

export function createFileCalls(client: UpstreamClient): FileCalls {
  const path = `${client.transport.endpoints.v1Base}/files`
  return {
    async upload(file, context) {
      const { contentType, body } = writeMultipart({ purpose: 'general' }, file)
      const answer = await client.fetch(
        { operation: 'upload', method: 'POST', path, headers: ['content-type', contentType], body },
        context
      )
      return client.read('upload', context, () => readFileId(readJson(answer)))
    },
    async download(fileId, context) {
      const answer = await client.fetch(
        {
          operation: 'download',
          method: 'GET',
          path: `${path}/${encodeURIComponent(fileId)}/content`,
          headers: ['accept', 'application/jpg']
        },
        context,
        ANSWER_BYTES_MAX
      )
      const mediaType = readHeader(answer.headers, 'content-type')?.split(';', 1)[0]?.trim()
      const file: DownloadedFile = { bytes: answer.bytes }
      if (mediaType !== undefined && mediaType !== '') file.mediaType = mediaType
      return file
    }
  }
}

function readFileId(answer: unknown): string {
  if (typeof answer === 'object' && answer !== null && 'id' in answer) {
    if (typeof answer.id === 'string' && answer.id !== '') return answer.id
  }
  throw protocolFailure('invalid_file_answer')
}
