// The JSON Schema of requests in the normalized form.
import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import t from 'tap'
import { normalizedSchemaFile, renderNormalizedSchema } from '../../ops/docs/normalized-schema.ts'
import { readClientRequest } from '../../worker/debug/formats.ts'
import { writeRequestDocument } from '../../worker/debug/normalized/write-request.ts'
import { readRecordedRequests } from '../end-to-end/agents/recorded.ts'
import { createContext, formats } from '../worker/debug/support.ts'

const schemaText = readFileSync(normalizedSchemaFile, 'utf8')
const validate = new Ajv({ strict: false, allErrors: true }).compile(JSON.parse(schemaText))

t.test('the schema file is what the script writes', async t => {
  t.equal(schemaText, renderNormalizedSchema(), 'run: node ops/docs/normalized-schema.ts')
})

t.test('every recorded request has a document that the schema describes', async t => {
  for (const { name, family, method, path, body } of readRecordedRequests()) {
    if (method !== 'POST' || /count_?tokens/i.test(path)) continue
    const request = readClientRequest(formats[family], body, createContext({ type: 'translate' }))
    t.ok(validate(JSON.parse(JSON.stringify(writeRequestDocument(request, family)))), name)
  }
  t.notOk(validate({ messages: [{ role: 'user', parts: [{ type: 'text' }] }] }))
  t.notOk(validate({ messages: [], foo: 1 }))
})
