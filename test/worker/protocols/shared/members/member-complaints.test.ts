// The words with which providers refuse optional members (decisions.md 79): the shapes are those of real services.
import t from 'tap'
import {
  findComplaints,
  type OptionalMember
} from '../../../../../worker/protocols/shared/members/member-complaints.ts'
import { LINEAR_GROWTH_MAX, measureGrowth } from '../../../../support/growth.ts'

function complaintsOf(body: unknown): OptionalMember[] {
  return [...findComplaints(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))].sort()
}

const openAi = (message: string, param: string | null = null, code: string | null = null) => ({
  error: { message, type: 'invalid_request_error', param, code }
})
const forbidden = (...names: string[]) =>
  names.map(name => ({
    type: 'extra_forbidden',
    loc: ['body', name],
    msg: 'Extra inputs are not permitted',
    input: "Unknown parameter: 'service_tier'."
  }))

const refused: ReadonlyArray<readonly [body: unknown, ...members: OptionalMember[]]> = [
  [
    openAi(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'max_tokens',
      'unsupported_parameter'
    ),
    'max_tokens'
  ],
  [openAi("Unsupported parameter: 'reasoning.effort' is not supported with this model."), 'reasoning_effort'],
  [
    openAi("Unknown parameter: 'parallel_tool_calls'.", 'parallel_tool_calls', 'unknown_parameter'),
    'parallel_tool_calls'
  ],
  [openAi('Sorry.', 'tools[0].function.strict', 'unknown_parameter'), 'strict'],
  [openAi("Unknown parameter: 'stream_options.include_usage'."), 'stream_options'],
  [openAi('Unrecognized request argument supplied: parallel_tool_calls'), 'parallel_tool_calls'],
  [
    openAi('Unrecognized request arguments supplied: parallel_tool_calls, stream_options. Please contact us.'),
    'parallel_tool_calls',
    'stream_options'
  ],
  [openAi("The 'metadata' parameter is only allowed when 'store' is enabled."), 'metadata'],
  [
    openAi(
      "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified."
    ),
    'parallel_tool_calls'
  ],
  [{ detail: forbidden('metadata', 'service_tier') }, 'metadata', 'service_tier'],
  [
    { object: 'error', message: { detail: forbidden('metadata') }, type: 'invalid_request_error', code: null },
    'metadata'
  ],
  [
    { object: 'error', message: JSON.stringify({ detail: forbidden('stream_options') }), code: '1000' },
    'stream_options'
  ],
  [
    {
      object: 'error',
      message:
        "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': {}}]",
      type: 'BadRequestError',
      code: 400
    },
    'stream_options'
  ],
  [
    openAi(
      '1 validation error for ChatCompletionRequest\nmetadata\n  Extra inputs are not permitted [type=extra_forbidden, input_value=1]'
    ),
    'metadata'
  ],
  [openAi("property 'reasoning_effort' is unsupported, did you mean 'reasoning_format'?"), 'reasoning_effort'],
  [openAi("'tools.0.function' : property 'strict' is unsupported"), 'strict'],
  [openAi('reasoning_effort is not supported with this model'), 'reasoning_effort'],
  [openAi('`parallel_tool_calls` is not supported by this model'), 'parallel_tool_calls'],
  [
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'output_config: Extra inputs are not permitted' }
    },
    'output_config'
  ],
  [{ type: 'error', error: { message: 'tools.0.custom.strict: Extra inputs are not permitted' } }, 'strict'],
  [{ type: 'error', error: { message: 'output_config.effort: Extra inputs are not permitted' } }, 'effort'],
  [{ type: 'error', error: { message: 'This model does not support the effort parameter.' } }, 'effort'],
  [
    {
      type: 'error',
      error: { message: '`temperature` and `top_p` cannot both be specified for this model. Please use only one.' }
    },
    'temperature_with_top_p'
  ],
  [{ message: 'The model returned the following errors: metadata: Extra inputs are not permitted' }, 'metadata'],
  [openAi("Extra inputs are not permitted, field: 'stream_options', value: {'include_usage': True}"), 'stream_options'],
  [
    [
      {
        error: {
          code: 400,
          message:
            'Invalid JSON payload received. Unknown name "metadata": Cannot find field.\nInvalid JSON payload received. Unknown name "service_tier": Cannot find field.',
          status: 'INVALID_ARGUMENT'
        }
      }
    ],
    'metadata',
    'service_tier'
  ],
  [
    { code: 'Client specified an invalid argument', error: 'Argument not supported on this model: reasoningEffort' },
    'reasoning_effort'
  ],
  [openAi('Model grok-4.20 does not support parameter reasoningEffort.'), 'reasoning_effort'],
  [openAi("groq does not support parameters: ['metadata', 'service_tier'], for model=x"), 'metadata', 'service_tier'],
  [openAi("Unrecognized key(s) in object: 'metadata', 'prompt_cache_key'"), 'metadata', 'prompt_cache_key'],
  [openAi("Additional properties are not allowed ('metadata' was unexpected)"), 'metadata'],
  [openAi("Extra parameters ['metadata'] are not allowed when extra-parameters is not set."), 'metadata'],
  [{ message: 'json: unknown field "prompt_cache_key"' }, 'prompt_cache_key'],
  [{ detail: 'unknown field `service_tier`, expected one of `model`, `messages`' }, 'service_tier'],
  [
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: JSON.stringify(openAi("Unknown parameter: 'metadata'.")), provider_name: 'x' }
      }
    },
    'metadata'
  ],
  ["Unknown parameter: 'metadata'.", 'metadata']
]

for (const [index, [body, ...members]] of refused.entries()) {
  t.test(`${index}: names ${members.join(' and ')}: ${JSON.stringify(body).slice(0, 120)}`, async t => {
    t.strictSame(complaintsOf(body), members.sort())
  })
}

t.test('other complaints name no member', async t => {
  for (const body of [
    openAi(
      "Unsupported value: 'temperature' does not support 0.2 with this model.",
      'temperature',
      'unsupported_value'
    ),
    openAi("Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.", 'reasoning_effort'),
    openAi('reasoning_effort must be one of none or default'),
    openAi("parameter 'max_tokens' is not allowed to be greater than 4096"),
    openAi('Invalid request: parameter `metadata` is not allowed to have more than 16 keys'),
    openAi("This model does not support the reasoning_effort parameter 'xhigh'"),
    openAi("'service_tier' is only allowed when the value is auto"),
    openAi('Parameter temperature is not supported: it must be between 0 and 1'),
    openAi("The parameter 'strict' is not allowed to be true here"),
    openAi('prompt_cache_key is not supported by this model where it is longer than 64 characters'),
    openAi('The value of reasoning_effort is not supported with this model.'),
    openAi('max_tokens is too large: 99999. This model supports at most 16384 completion tokens', 'max_tokens'),
    openAi("Invalid 'metadata': object with too many properties.", 'metadata', 'object_above_max_properties'),
    openAi("Invalid type for 'parallel_tool_calls': expected a boolean.", 'parallel_tool_calls', 'invalid_type'),
    openAi('parallel_tool_calls=False is not supported by this model.', 'parallel_tool_calls', 'wrong_api_format'),
    openAi("Unknown parameter: 'frobnicate'."),
    openAi("'messages.1' : property 'metadata' is unsupported"),
    openAi(
      "'messages.1' : for 'role:user' the following must be satisfied[('messages.1' : property 'metadata' is unsupported)]"
    ),
    { detail: [{ type: 'extra_forbidden', loc: ['body', 'messages', 2, 'assistant', 'metadata'], input: 1 }] },
    { detail: [{ type: 'int_parsing', loc: ['body', 'max_tokens'], input: 'x' }] },
    { error: { message: 'metadata.foo: Extra inputs are not permitted' } },
    { error: { message: 'max_tokens: 99999 > 64000, which is the maximum allowed number of output tokens' } },
    openAi('Image input is not supported with this model.'),
    openAi('Unknown name "type" at \'tools[26]\': Cannot find field.'),
    { error: { input: "Unknown parameter: 'metadata'." } },
    'Bad Request',
    '<html>metadata</html>',
    '',
    { error: null }
  ]) {
    t.strictSame(complaintsOf(body), [], JSON.stringify(body))
  }
  t.strictSame(
    complaintsOf(openAi(`Unknown parameter: 'metadata'.${' '.repeat(70_000)}`)),
    [],
    'a body that quotes a request'
  )
})

t.test('an error of any form is read in time that grows with its length', async t => {
  for (const piece of ['[', '{"error":', "'", 'metadata: ', 'parameter ', 'a.b.', ' is not', "unknown field '"]) {
    const growth = measureGrowth(7500, size => {
      const body = Buffer.from(piece.repeat(size / piece.length))
      return () => {
        findComplaints(body)
      }
    })
    t.ok(growth < LINEAR_GROWTH_MAX, `${piece}: ${growth.toFixed(1)} times as long`)
  }
})
