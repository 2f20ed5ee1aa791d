// Checks responses against the OpenAPI document: status, content type, headers and body must be described for the operation.
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { OpenApiDocument } from '../../worker/docs/document.ts'
import type { JsonSchema } from '../../worker/docs/schema.ts'

export interface ReceivedResponse {
  status: number
  headers: Headers
  text: string
  /** The connection closed in the middle of the body, as it does at the end of some failed streams. */
  isCut?: boolean
}

export interface OperationName {
  method: 'get' | 'post' | 'delete'
  /** As the document has it, with its parameters in braces. */
  path: string
}

/** Headers of HTTP itself, of cross-origin rules and of streams: no document lists them for each response. */
const PLAIN_HEADERS =
  /^(?:date|connection|keep-alive|content-type|content-length|transfer-encoding|vary|cache-control|access-control-.*|x-accel-buffering|x-content-type-options|content-security-policy|referrer-policy)$/

/** Returns what is wrong with responses; nothing for one that the document describes. */
export function createDescribedResponses(document: OpenApiDocument) {
  const ajv = new Ajv2020({ strict: false, allErrors: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'document')
  const validators = new Map<JsonSchema, ValidateFunction>()

  function validate(schema: JsonSchema, value: unknown): string[] {
    let validator = validators.get(schema)
    if (validator === undefined) {
      validator = ajv.compile(withDocument(schema))
      validators.set(schema, validator)
    }
    return validator(value) ? [] : [ajv.errorsText(validator.errors, { dataVar: 'body' }).slice(0, 600)]
  }

  function resolve(value: JsonSchema): JsonSchema {
    if (typeof value.$ref !== 'string') return value
    const [, , kind = '', name = ''] = value.$ref.split('/')
    const components = document.components as unknown as Record<string, Record<string, JsonSchema>>
    return components[kind]?.[name] ?? {}
  }

  /** The described response of a status, by its number or by its class. */
  function findResponse({ method, path }: OperationName, status: number): JsonSchema | undefined {
    const responses = (document.paths[path]?.[method]?.responses ?? {}) as Record<string, JsonSchema>
    const found = responses[status] ?? responses[`${Math.floor(status / 100)}XX`]
    return found === undefined ? undefined : resolve(found)
  }

  function checkHeaders(described: JsonSchema, headers: Headers): string[] {
    const names = Object.entries((described.headers ?? {}) as Record<string, JsonSchema>)
    const wrong = names.flatMap(([name, reference]) => {
      const header = resolve(reference)
      const value = headers.get(name)
      if (value === null) return header.required === true ? [`The header ${name} is missing.`] : []
      return validate(header.schema as JsonSchema, value).map(text => `${name}: ${text}`)
    })
    const known = new Set(names.map(([name]) => name.toLowerCase()))
    const unknown = [...headers.keys()].filter(name => !known.has(name) && !PLAIN_HEADERS.test(name))
    return [...wrong, ...unknown.map(name => `The header ${name} is not described.`)]
  }

  function checkBody(described: JsonSchema, { headers, text, isCut = false }: ReceivedResponse): string[] {
    const content = described.content as Record<string, { schema: JsonSchema }> | undefined
    if (content === undefined) return text === '' ? [] : ['There is a body that is not described.']
    const type = headers.get('content-type') ?? ''
    const media = content[type] ?? content[type.split(';')[0] ?? '']
    if (media === undefined) return [`The content type ${type} is not described.`]
    const isText = media.schema.type === 'string'
    if (type.startsWith('text/event-stream') && !isText) return checkEvents(media.schema, text)
    if (isText) return validate(media.schema, text)
    // An array of chunks whose stream failed is complete as well; only its connection is not.
    const value = parse(text)
    if (value === undefined) return [`The ${isCut ? 'cut ' : ''}body is no JSON: ${text.slice(0, 200)}`]
    return validate(media.schema, value)
  }

  /** Every event holds one document; `[DONE]` ends some streams, and the last bytes of others are a bare error. */
  function checkEvents(schema: JsonSchema, text: string): string[] {
    return text.split('\n\n').flatMap(frame => {
      if (frame === '' || frame.startsWith(':')) return []
      const lines = frame.split('\n')
      const name = lines.find(line => line.startsWith('event: '))?.slice('event: '.length)
      const data = lines.find(line => line.startsWith('data: '))?.slice('data: '.length) ?? frame
      if (data === '[DONE]') return []
      const value = parse(data)
      if (value === undefined) return [`An event holds no JSON: ${frame.slice(0, 200)}`]
      const type = (value as { type?: unknown }).type
      const isNamed = name === undefined || name === type
      return isNamed ? validate(schema, value) : [`The event ${name} holds a ${String(type)}.`]
    })
  }

  return {
    /** @param expected the only status that is allowed, for a request that is known to be served. */
    check(operation: OperationName, response: ReceivedResponse, expected?: number): string[] {
      if (expected !== undefined && response.status !== expected) {
        return [`The status is ${response.status}: ${response.text.slice(0, 300)}`]
      }
      const described = findResponse(operation, response.status)
      if (described === undefined) return [`The status ${response.status} is not described.`]
      return [...checkHeaders(described, response.headers), ...checkBody(described, response)]
    },
    /** Checks a refusal that no operation lists, such as that of a wrong method, against a component. */
    checkComponent(name: string, response: ReceivedResponse): string[] {
      const schema = document.components.schemas[name] ?? { not: {} }
      return validate(schema, parse(response.text))
    }
  }
}

/** References of the document point to its root; here the schema stands outside of it. */
function withDocument(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')) as JsonSchema
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
