"""Byte sequences that are frequent in packed values: dictionaries for zlib (``bodies``).

The most frequent sequences are last, as zlib recommends. Stored values can only be unpacked with the dictionary that
packed them, so never change a dictionary; add another one.
"""

from __future__ import annotations

_RECORDS = (
    b'{"tenant_id":"name":"description":"triggers":["steps":[{"text":"condition":"}],"allowed_tools":["created_by":"'
    b'created_at":17{"tool_call_id":"call_","agent_id":"message":"status":"completed","result":"error":"ended_at":17"'
    b'usage":{"input_tokens":[{"role":"user","content":"timestamp":17"role":"tool","tool_name":"agent_id":"assistant"'
    b',"tool_name":"input":{"output":"succeeded":true,"error_message":null,"duration":0.,"task_id":"'
)
_HANDOFFS = (
    b'{"run_id":"message_id":"answer.","permissions":["first_ordinal":"interrupts":[{"id":"tool_call_id":"call_","too'
    b'l_name":"message":"expires_at":17"answer":{"interrupt_id":"status":"resolved","payload":{"approved":true},"answ'
    b'ered_by":"change":{"conversation":{"agent_id":"handoff":["workflow":{"id":"resumable":[{"id":"agent_id":"skill-'
    b'creation-agent","name":"your new skill","state":"data":{},"thread_id":"version":"updated_at":17"expires_at":17"'
    b'status":"saved"}],"taught_at":17"handoffs":[{"thread_id":"tenant_id":"user_id":"ordinal":"source_agent_id":"ass'
    b'istant","target_agent_id":"skill-creation-agent","context_mode":"summary","context_summary":"recent_messages":['
    b'],"handoff_reason":"trigger: ","started_at":17"number":1"preserve_state":false"return_expected":false"show_tool'
    b'_calls":true"workflow_id":"remote_task_id":"child_thread_id":"outcome":"returned","ended_at":17}],"workflows":['
    b'],"moved_from":"offered_id":"GATHERING_REQUIREMENTS","DEFINING_TRIGGERS","Defining Triggers","GENERATING_SKILL"'
    b',"TESTING","COMPLETE"{"type":"ACTIVITY_SNAPSHOT","messageId":"activityType":"handoff","return","content":{"from'
    b'":"assistant","to":"skill-creation-agent","label":"Connecting you with Skill Creation Assistant...","reason":"t'
    b'rigger: },"replace":true},{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/activeAgent","value":{"id":"s'
    b'kill-creation-agent","name":"Skill Creation Assistant","description":"Builds custom skills through conversation'
    b'.","avatarUrl":null,"isMain":false}}]},{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/workflow","value'
    b'":{"id":"name":"your {name} skill","state":"GATHERING_REQUIREMENTS","label":"Gathering Requirements","step":1,"'
    b'steps":5,"canExit":true}}]},{"type":"STEP_FINISHED","stepName":"GATHERING_REQUIREMENTS"},"op":"replace","path":'
    b'"/resumable","value":'
)
_EVENTS = (
    b'"type":"RUN_ERROR","message":"code":"retryable":"type":"CUSTOM","name":"value":"STEP_STARTED","stepName":'
    b'"type":"STATE_SNAPSHOT","snapshot":{"activeAgent":{"id":"assistant","name":"Assistant","description":'
    b'"avatarUrl":null,"isMain":true},"workflow":null,"resumable":[],"status":"active"}},'
    b'"type":"RUN_FINISHED","threadId":"runId":"outcome":{"type":"success"},"usage":[{"model":"inputTokens":'
    b'"outputTokens":"totalTokens":}]},{"type":"RUN_STARTED","threadId":"protocolVersion":"1.0"'
    b'{"type":"TEXT_MESSAGE_START","messageId":"role":"assistant","name":"metadata":{"agentId":"assistant"}},'
    b'{"type":"TEXT_MESSAGE_END","messageId":"metadata":{"sources":[]}},'
    b'{"type":"TEXT_MESSAGE_CONTENT","messageId":"delta":" the , and to of in that is you for with "},'
)
_MESSAGES = (
    b'"status":"cancelled","is_cut":true,"is_handoff_summary":true,"is_tool_result":true,"source":"sources":[{'
    b'"role":"tool","content":"tool_name":"tool_call_id":"call_","call_end":"failed"refused","attempt":2'
    b',"tool_calls":[{"id":"call_","name":"arguments":"{\\"}],"tail_seq":"first_seq":"error_code":"error_detail":'
    b'"interrupts":"parent_run_id":}}{"role":"user","content":"{"role":"assistant","content":"","timestamp":17'
    b',"agent_id":"assistant","agent_name":"Assistant","end":{"outcome":"success","usage":{"input_tokens":'
    b',"output_tokens":},"model":"tail":[{"type":"TEXT_MESSAGE_CONTENT","messageId":"'
)

_OTHER_LANGUAGES = (
    b" della nella alla sono anche questo questa perch\xc3\xa9 quando essere stato molto pi\xc3\xb9 con per il la che"
    b" di non una gli dei n\xc3\xa3o uma para com voc\xc3\xaa est\xc3\xa1 s\xc3\xa3o tamb\xc3\xa9m mais quando porque"
    b" como isso muito obrigado pode ser dos das pelo que los las una para con por como m\xc3\xa1s pero est\xc3\xa1"
    b" tambi\xc3\xa9n cuando porque usted puede ser este esta muy gracias todo del en el de la c'est vous pouvez"
    b" votre vos nous pour avec dans une des les est pas que qui sur plus mais aussi \xc3\xaatre cette avez faire"
    b" tr\xc3\xa8s bonjour merci s'il vous pla\xc3\xaet de la du et le nicht auch eine einen einer einem"
    b" k\xc3\xb6nnen werden wurde haben Ihre Ihnen Ihr Sie sind ist und oder aber wenn dass f\xc3\xbcr mit auf von"
    b" zum zur \xc3\xbcber nach noch schon sehr mehr bitte gern vielen Dank Sie k\xc3\xb6nnen der die das den dem des"
    b" in der "
)

# Common words and turns of assistants' answers. Texts are most of what is stored: an English answer takes 15 % less.
_ENGLISH = (
    b" government company program example question problem information development management experience environment"
    b" performance application interesting understand understanding especially particularly immediately eventually"
    b" currently recently actually generally typically usually probably definitely absolutely completely directly"
    b" exactly simply similar different difference important importance possible impossible available necessary"
    b" essential additional appropriate professional traditional original personal individual several general special"
    b" certain common complete current recent previous following further specific standard simple single social"
    b" various Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April August September"
    b" October November December minutes hours weeks months years today tomorrow yesterday morning afternoon evening"
    b" night week month second hour minute customer service account number order address email phone message website"
    b" system software computer internet network server database security password update version project product"
    b" business industry market price money payment balance interest credit insurance contract policy report meeting"
    b" schedule appointment document section chapter article summary research study analysis result results evidence"
    b" theory method process structure function feature features option options setting settings button screen page"
    b" file files folder code error errors value values type types field table list people person child children"
    b" family friend friends parents mother father woman women man men girl boy student students teacher doctor"
    b" patient school college university hospital office home house room kitchen window door garden water food coffee"
    b" dinner lunch breakfast weather summer winter spring light color colour white black green blue red brown yellow"
    b" country world city state street road travel flight hotel airport ticket train station region local national"
    b" international health medical medicine disease treatment symptoms exercise training weight blood heart brain"
    b" skin body hand hands head face eyes beautiful wonderful comfortable expensive difficult dangerous healthy"
    b" happy angry afraid certainly perhaps however although though despite therefore moreover otherwise instead"
    b" meanwhile increase decrease improve reduce remove replace provide provided provides require required requires"
    b" include includes including contain contains consider considered continue continued create created develop"
    b" developed describe determine discuss enable ensure establish expect explain explore express identify indicate"
    b" influence involve maintain manage measure mention notice observe obtain occur offer operate organize"
    b" participate perform prepare prevent produce promise protect prove publish realize receive recognize recommend"
    b" record reflect refuse regard relate release remain remember repeat represent request respond restore return"
    b" review select separate serve share should start stop store suggest support suppose surround switch teach throw"
    b" touch treat trouble visit wait watch wonder worry write written something anything everything nothing someone"
    b" anyone everyone somebody nobody somewhere anywhere everywhere sometimes always never often rarely already"
    b" still yet soon later before after during since until while within without between among across through"
    b" throughout around above below behind beside beyond under over against toward towards along about first second"
    b" third fourth next last final early late early young small large little great good better best bad worse worst"
    b" high higher low lower long longer short shorter full half whole part parts piece side sides place point points"
    b" end beginning middle top bottom front back left right inside outside near far one two three four five six"
    b" seven eight nine ten hundred thousand million away again down once twice only just even ever also both each"
    b" every either neither another other others such same own few fewer less least more most much many enough quite"
    b" rather really very too almost nearly what which who whom whose when where why how whether because unless that"
    b" this these those there here then than thus can cannot could would should might must may will shall do does did"
    b" done have has had having be been being am are is was were make makes made making take takes took taken taking"
    b" give gives gave given giving get gets got getting go goes going went gone come comes came coming keep keeps"
    b" kept keeping let lets put puts set sets see sees saw seen look looks looked looking find finds found finding"
    b" know knows knew known think thinks thought feel feels felt try tries tried trying use uses used using need"
    b" needs needed want wants wanted work works worked working help helps helped helping show shows showed shown"
    b" tell tells told say says said ask asks asked call calls called change changes changed move moves moved moving"
    b" run runs running turn turns turned open opens opened close closes closed leave leaves left bring brings"
    b" brought hold holds held stand stands stood grow grows growing build builds built buy buys bought pay pays paid"
    b" read reads learn learned lose loses lost win meet mean means meant become becomes became begin begins began"
    b" begun seem seems seemed happen happens happened I'm I've I'll I'd you're you've you'll it's that's there's"
    b" don't doesn't didn't isn't aren't wasn't won't can't couldn't wouldn't shouldn't let's Here's how to Here are"
    b" some Here is a Let me know if you Would you like me to Feel free to I hope this helps You can also Make sure"
    b" to Keep in mind that In addition to this, For example, if you On the other hand, As a result, of the In this"
    b" case, In general, In short: If you have any questions, Thank you for your I'm sorry to hear that \\n\\n1."
    b" **\\n2. **\\n3. **\\n\\n- **:** \\n- The \\n- If \\n\\n### \\n\\n## \\n\\n```python\\n\\n```\\n\\nStart with"
    b" the \\n\\nDo not \\n\\nThe \\n\\nThis is \\n\\nIf you \\n\\nTo \\n\\nIn \\n\\nYes, \\n\\nNo, as well as at"
    b" least at the moment at the same time because of the by the way due to the each of the even if the for a few"
    b" for the first time from the in order to in the middle of the instead of a lot of most of the next to the on"
    b" the other out of the one of the rather than some of the so that the such as a that it is that you can the end"
    b" of the there is no there are to be able to to make sure that up to the when it is when the which is with the"
    b" while the and the rest of the would be a will be the can be used should be has been have been is not a does"
    b" not have is the same as soon as you want to you need to you can use it and then if you are if there is more"
    b" than a less than what you would like to know how much how many whether the it may be this means that in a few"
    b" as a rule, on its own not only but also is likely to most likely because they are into the new out the old"
    b" under the after the before you until the over the through the about the of your with a to your in your for"
    b" your on your and your if the that the to the in the of a for a is a on the and a at the to a it is as a be a"
    b" are the by the ation ations ing ings ed ly ment ness able ible ful less ous ive ally ity ies ers tion sion"
    b" ence ance ant ent ary ory al ic ical ize ise . The . This . It . If . You . In . We . A , and , but , or ,"
    b" which , because , so , it , you , the 's \xe2\x80\x99s and of the in the to the "
)

# The body of a plain answer, with the events of its run (``message_items``), of a question, and of a run's record.
_TURN = (
    b'"taskId":null,"tokens":0,"budget":2000,"durationMs":0,"error":null,"items":[]},{"kind":"knowledge","agentId":"'
    b'episodes","agentId":"procedure","agentId":"history","agentId":"assistant","taskId":null,"tokens":"budget":null,"'
    b'durationMs":null,"error":null,"items":[{"id":"","kind":"system","title":"system","text":{"prompt":"Today is '
    b'"date":null,"score":null,"signals":{},"tokens":"included":true,"reason":null,"ambiguous":false,"source":null}'
    b']},{"kind":"current","agentId":[{"from":0,"to":"items":[{"id":"","kind":"user","title":"user","text":{"message":'
    b'"calls":[{"agentId":"assistant","taskId":null,"model":"","beganAt":"20,"messages":[{"role":"system","content":{"'
    b'prompt":"{"role":"system","content":"{"from":"to":}],"tools":["],"estimatedTokens":"inputTokens":"outputTokens":'
    b'"cachedInputTokens":0,"durationMs":"error":null}],"callsLeftOut":0}{"runId":"","threadId":"","recordedAt":"20Z",'
    b'"budget":,"redacted":false,"cut":[],"blocks":[{"kind":"system",{"role":"user","content":"","timestamp":179"time_'
    b'zone":"Europe/","timestamp":17","agent_id":"assistant","agent_name":"Assistant","end":{"outcome":"success","usa'
    b'ge":{"input_tokens":,"output_tokens":,"cached_input_tokens":},"model":"","tail":[{"type":"RUN_STARTED","threadI'
    b'd":0,"runId":0,"protocolVersion":"1.0"},{"type":"STATE_SNAPSHOT","snapshot":{"activeAgent":{"id":"assistant","n'
    b'ame":"Assistant","description":"Answers questions, and knows whom to ask.","avatarUrl":null,"isMain":true},"wor'
    b'kflow":null,"resumable":[],"status":"active"}},{"type":"TEXT_MESSAGE_START","messageId":0,"role":"assistant","n'
    b'ame":"Assistant","metadata":{"agentId":"assistant"}},[0,],{"type":"TEXT_MESSAGE_END","messageId":0,"metadata":{'
    b'"sources":[]}},{"type":"RUN_FINISHED","threadId":0,"runId":0,"outcome":{"type":"success"},"usage":0}],"tail_seq'
    b'":,"first_seq":,"first_token_ms":,"trace_id":"1-6"}}{"role":"assistant","content":"'
)

STRUCTURE = _RECORDS + _HANDOFFS + _MESSAGES + _EVENTS
TEXTS = _OTHER_LANGUAGES + STRUCTURE + _ENGLISH + _TURN
