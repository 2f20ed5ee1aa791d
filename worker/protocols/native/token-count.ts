// Token counts on the native upstream's wire (upstream.md 7).

import { isJsonObject } from '../../normalized/index.ts'
import type { TokenCountCodec } from '../provider-face.ts'
import { unusableResponse } from './errors.ts'
import type { NativeOptions } from './options.ts'

export const nativeTokenCount: TokenCountCodec<NativeOptions> = {
  write: ({ model, input }, { v1Base }) => ({
    method: 'POST',
    path: `${v1Base}/tokens/count`,
    headers: ['content-type', 'application/json'],
    body: { model, input }
  }),
  read(body, { count }) {
    if (!Array.isArray(body) || body.length !== count) throw unusable()
    return body.map((item: unknown) => {
      const tokens = isJsonObject(item) ? item.tokens : undefined
      if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 0) throw unusable()
      return tokens
    })
  }
}

function unusable(): Error {
  return unusableResponse('invalid_token_counts')
}
