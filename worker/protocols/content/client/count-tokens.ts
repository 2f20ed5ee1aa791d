// countTokens of the content protocol: selects the texts to count and writes the response (content.md 5.4).

import type { Diagnostics, JsonObject } from '../../../normalized/index.ts'
import type { TokenCountClientFace } from '../../client-face.ts'
import { readExtraHeaders } from '../../shared/extra-headers.ts'
import { keepDefined, readOptionalObject, readOptionalString } from '../../shared/members/field.ts'
import { Members } from '../../shared/members/members.ts'
import { sortParameters } from '../../shared/members/parameters.ts'
import { listContents, listTexts, readSystemText } from './read-contents.ts'
import { listDeclarations, listTools } from './read-tools.ts'
import { type CountTokensRequest, type CountTokensResponse, countTokensParameters } from './schema.ts'
import { foldNames, spell, toCamelCase } from './spelling.ts'

export interface ReadCountTokensRequest {
  /** In order: instruction, contents, and the name and description of each function. No text is empty; the list may be. */
  texts: string[]
  extraHeaders?: JsonObject
  ignored: Diagnostics
}

/**
 * Reads the parsed body, which may be empty or contain a whole generate request. Raises `invalid_request` with the path of a member
 * of the wrong type.
 */
export function readCountTokensRequest(body: CountTokensRequest): ReadCountTokensRequest {
  const { ignored, additional } = sortParameters(foldNames(body, countTokensParameters), countTokensParameters)
  const member = spell(body, 'generateContentRequest')
  const wrapped = readOptionalObject(body, member)
  const texts = wrapped === undefined ? listCountedTexts(body, '') : listCountedTexts(wrapped, member)
  return {
    texts: texts.filter(text => text !== ''),
    ignored: { ...ignored, ...additional },
    ...keepDefined({ extraHeaders: readExtraHeaders(body) })
  }
}

/** @param totalTokens the sum over the texts; 0 without texts. */
export function writeCountTokensResponse(totalTokens: number): CountTokensResponse {
  return { totalTokens }
}

/** The URL names the model. */
export const contentTokenCountFace: TokenCountClientFace = {
  allowsEmptyBody: true,
  members: new Members(countTokensParameters, { fold: toCamelCase }),
  read(body, { path }) {
    const { texts, extraHeaders } = readCountTokensRequest(body)
    return { request: keepDefined({ model: path?.model }), texts, extraHeaders }
  },
  writeResponse: writeCountTokensResponse
}

function listCountedTexts(request: JsonObject, parent: string): string[] {
  const prefix = parent === '' ? '' : `${parent}.`
  const { contents } = request
  const isEmpty = contents === undefined || contents === null || (Array.isArray(contents) && contents.length === 0)
  const listed = isEmpty ? [] : listContents(contents, `${prefix}contents`)
  return [
    ...readSystemText(request, parent),
    ...listed.flatMap(({ content, path }) => listTexts(content, path)),
    ...listTools(request.tools, `${prefix}tools`).flatMap(({ tool, path }) =>
      listDeclarations(tool, path).flatMap(({ declaration, path: at }) => [
        readOptionalString(declaration, 'name', at) ?? '',
        readOptionalString(declaration, 'description', at) ?? ''
      ])
    )
  ]
}
