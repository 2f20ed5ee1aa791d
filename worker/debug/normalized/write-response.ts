// Writes a response of the normalized form as its JSON document.

import {
  type JsonObject,
  NORMALIZED_VERSION,
  type NormalizedResponse,
  type OutputItem
} from '../../normalized/index.ts'
import { toSnakeCase } from './names.ts'
import { clean, writeState } from './write-request.ts'

/** Writes a response as a document. Counts that the provider did not report are null. */
export function writeResponseDocument(response: NormalizedResponse): JsonObject {
  const { identity, items, usage, finish, state, ...plain } = response
  return clean({
    schema_version: NORMALIZED_VERSION,
    ...toSnakeCase(plain),
    identity: identity && toSnakeCase(identity),
    items: items.map(writeItem),
    usage: usage && toSnakeCase(usage),
    finish: toSnakeCase(finish),
    state: writeState(state)
  })
}

function writeItem(item: OutputItem): JsonObject {
  switch (item.type) {
    case 'text': {
      const { citations, state, ...text } = item
      return clean({ ...text, citations: citations.map(toSnakeCase), state: writeState(state) })
    }
    case 'hosted-tool': {
      const { sources, ...run } = item
      return clean({ ...toSnakeCase(run), sources: sources.map(toSnakeCase) })
    }
    case 'file': {
      const { file, state, ...rest } = item
      return clean({ ...rest, file: toSnakeCase(file), state: writeState(state) })
    }
    default: {
      const { state, ...rest } = item
      return clean({ ...toSnakeCase(rest), state: writeState(state) })
    }
  }
}
