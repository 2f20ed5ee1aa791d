// Twenty tools as coding agents declare them, with every feature of their schemas: recursive definitions, alternatives, enums of every
// kind, types with null, boolean schemas, and names that the upstream reserves for its built-in tools.

export interface AgentTool {
  name: string
  description?: string
  schema: object
}

const text = (description: string) => ({ type: 'string', description })

export const agentTools: readonly AgentTool[] = [
  {
    name: 'run_shell',
    description: 'Runs a command.\n\nUsage:\n- Quote paths with spaces: `cd "/a b"`.\n- Never use `rm -rf /`.',
    schema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        command: { type: 'array', items: { type: 'string' }, minItems: 1 },
        workdir: { type: ['string', 'null'], description: 'Where it runs' },
        timeout_ms: { type: 'integer', minimum: 1, maximum: 600000, default: 120000 },
        sandbox: { type: 'string', enum: ['read-only', 'workspace-write', 'danger-full-access'] },
        environment: { type: 'object', additionalProperties: { type: 'string' } }
      },
      required: ['command'],
      additionalProperties: false
    }
  },
  {
    name: 'read_file',
    description: 'Reads a file, or a part of it.',
    schema: {
      type: 'object',
      properties: {
        path: text('An absolute path'),
        range: {
          anyOf: [
            {
              type: 'object',
              properties: { from: { type: 'integer' }, to: { type: 'integer', exclusiveMinimum: 0 } },
              required: ['from', 'to'],
              additionalProperties: false
            },
            { type: 'null' }
          ]
        },
        encoding: { enum: ['utf8', 'latin1', null] }
      },
      required: ['path', 'range'],
      additionalProperties: false
    }
  },
  {
    name: 'write_file',
    description: 'Writes a file.',
    schema: {
      type: 'object',
      properties: { path: text('An absolute path'), content: text('Its whole content, such as «Привет 🌍»') },
      required: ['path', 'content']
    }
  },
  {
    name: 'apply_patch',
    description: 'Applies a patch in the form `*** Begin Patch … *** End Patch`.',
    schema: {
      type: 'object',
      properties: { patch: { type: 'string', pattern: '^\\*\\*\\* Begin Patch\\n[\\s\\S]*\\*\\*\\* End Patch$' } },
      required: ['patch'],
      additionalProperties: false
    }
  },
  {
    name: 'edit_file',
    description: 'Replaces texts in a file.',
    schema: {
      type: 'object',
      properties: { path: { $ref: '#/$defs/Path' }, edits: { type: 'array', items: { $ref: '#/$defs/Edit' } } },
      required: ['path', 'edits'],
      $defs: {
        Path: { type: 'string', format: 'uri-reference' },
        Edit: {
          type: 'object',
          properties: {
            old_text: { type: 'string', minLength: 1 },
            new_text: { type: 'string' },
            replace_all: { type: 'boolean', default: false }
          },
          required: ['old_text', 'new_text'],
          additionalProperties: false
        }
      }
    }
  },
  {
    name: 'list_directory',
    description: 'Lists a directory.',
    schema: {
      type: 'object',
      properties: {
        path: text('An absolute path'),
        depth: { type: 'integer', enum: [1, 2, 3] },
        ignore: { type: 'array', items: { type: 'string' } }
      },
      required: ['path']
    }
  },
  {
    name: 'glob',
    description: 'Finds files by a pattern such as `**/*.ts`.',
    schema: { type: 'object', properties: { pattern: text('The pattern'), path: text('Where') }, required: ['pattern'] }
  },
  {
    name: 'grep',
    description: 'Finds texts in files.',
    schema: {
      type: 'object',
      properties: {
        pattern: text('A regular expression'),
        '-A': { type: 'number', description: 'Lines after' },
        '-i': { type: 'boolean' },
        output_mode: { type: 'string', enum: ['content', 'files_with_matches', 'count'] }
      },
      required: ['pattern'],
      additionalProperties: false
    }
  },
  {
    name: 'todo_write',
    description: 'Keeps the list of things to do.',
    schema: {
      type: 'object',
      properties: {
        todos: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              content: { type: 'string', minLength: 1 },
              status: { type: 'string', enum: ['pending', 'in_progress', 'completed'] },
              active_form: { type: 'string', minLength: 1 }
            },
            required: ['content', 'status', 'active_form'],
            additionalProperties: false
          }
        }
      },
      required: ['todos'],
      additionalProperties: false
    }
  },
  {
    name: 'update_plan',
    description: 'A plan of steps within steps.',
    schema: {
      type: 'object',
      properties: { explanation: { type: 'string' }, plan: { type: 'array', items: { $ref: '#/definitions/Step' } } },
      required: ['plan'],
      definitions: {
        Step: {
          type: 'object',
          properties: {
            step: { type: 'string' },
            status: { enum: ['pending', 'done'] },
            steps: { type: 'array', items: { $ref: '#/definitions/Step' } }
          },
          required: ['step', 'status']
        }
      }
    }
  },
  {
    name: 'web_search',
    description: 'The agent’s own search, under a name that the upstream keeps for itself.',
    schema: {
      type: 'object',
      properties: { query: { type: 'string', minLength: 2 }, domains: { type: 'array', items: { type: 'string' } } },
      required: ['query'],
      additionalProperties: false
    }
  },
  {
    name: 'WebFetch',
    description: 'The agent’s own download.',
    schema: {
      type: 'object',
      properties: { url: { type: 'string', format: 'uri' }, prompt: { type: 'string' } },
      required: ['url', 'prompt'],
      additionalProperties: false
    }
  },
  {
    name: 'spawn_agent',
    description: 'Starts another agent.',
    schema: {
      type: 'object',
      properties: {
        task: {
          oneOf: [
            { type: 'object', properties: { kind: { const: 'explore' }, question: { type: 'string' } } },
            { type: 'object', properties: { kind: { const: 'build' }, files: { type: 'array', items: true } } }
          ]
        },
        limits: { allOf: [{ type: 'object' }, { properties: { minutes: { type: 'number', multipleOf: 0.5 } } }] }
      },
      required: ['task']
    }
  },
  {
    name: 'notebook_edit',
    description: 'Edits a cell.',
    schema: {
      type: 'object',
      properties: {
        cell: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
        source: { type: ['string', 'array'], items: { type: 'string' } },
        mode: { type: 'string', enum: ['replace', 'insert', 'delete'], default: 'replace' }
      },
      required: ['cell']
    }
  },
  {
    // Longer than the upstream accepts, because tool servers prefix their tools with the server's name.
    name: 'mcp__github_enterprise_server__create_issue_with_labels_milestone_and_assignee',
    description: 'Creates an issue (server github).',
    schema: {
      type: 'object',
      title: 'CreateIssue',
      properties: {
        title: { type: 'string', maxLength: 256, examples: ['It breaks'] },
        labels: { type: 'array', items: { type: 'string' }, uniqueItems: true },
        milestone: { type: ['integer', 'null'], default: null },
        assignee: { type: 'string', pattern: '^[a-z\\d](?:[a-z\\d]|-(?=[a-z\\d])){0,38}$' }
      },
      required: ['title']
    }
  },
  {
    name: 'mcp__postgres__query',
    description: 'Asks a database (server postgres).',
    schema: {
      type: 'object',
      properties: {
        sql: { type: 'string', not: { pattern: '(?i)drop' } },
        parameters: { type: 'array', items: {} },
        options: { type: 'object', patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false }
      },
      required: ['sql']
    }
  },
  {
    name: 'view_image',
    description: 'Looks at a picture.',
    schema: {
      type: 'object',
      properties: { path: { type: 'string' } },
      required: ['path'],
      additionalProperties: false
    }
  },
  {
    name: 'code_interpreter',
    description: 'The agent’s own interpreter.',
    schema: {
      type: 'object',
      properties: { code: { type: 'string' }, language: { enum: ['python', 'javascript'] } },
      required: ['code'],
      if: { properties: { language: { const: 'python' } } },
      // biome-ignore lint/suspicious/noThenProperty: it is a word of JSON Schema.
      then: { properties: { code: { minLength: 1 } } }
    }
  },
  {
    name: 'ask_user',
    description: 'Asks the user.',
    schema: {
      type: 'object',
      properties: {
        question: { type: 'string' },
        options: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 4 },
        multiple: { type: 'boolean' }
      },
      required: ['question'],
      dependentRequired: { multiple: ['options'] }
    }
  },
  { name: 'finish', schema: { type: 'object', properties: {} } }
]

const ALIASES: Readonly<Record<string, string>> = {
  web_search: '__gateway_user_search_web',
  code_interpreter: '__gateway_user_code_interpreter'
}

const WIRE_NAME_CHARACTERS_MAX = 64

/** The name under which a tool is sent upstream. */
export function wireName(name: string): string {
  return ALIASES[name] ?? name.slice(0, WIRE_NAME_CHARACTERS_MAX)
}

/** The declarations that the upstream must receive for these tools, every schema unchanged. */
export function writeWireTools(tools: readonly AgentTool[]): object[] {
  return tools.map(({ name, description, schema }) => ({
    name: wireName(name),
    ...(description === undefined ? {} : { description }),
    parameters: schema
  }))
}
