# Converts the script and the style of the report page to C at build time, without node. A module comes
# after the modules that it imports.
set(REPORT_MODULES arrays numbers colours plot player listen look atoms convergence main)
list(TRANSFORM REPORT_MODULES PREPEND ${PROJECT_SOURCE_DIR}/report/assets/)
list(TRANSFORM REPORT_MODULES APPEND .mjs)
set(REPORT_STYLES ${PROJECT_SOURCE_DIR}/report/vendor/uPlot.css
                  ${PROJECT_SOURCE_DIR}/report/assets/page.css)
set(REPORT_LIBRARY ${PROJECT_SOURCE_DIR}/report/vendor/LICENSE.uPlot
                   ${PROJECT_SOURCE_DIR}/report/vendor/uPlot.iife.js)
set(REPORT_ASSETS ${PROJECT_BINARY_DIR}/report/assets.c)
list(JOIN REPORT_MODULES "," modules)
list(JOIN REPORT_STYLES "," styles)
list(JOIN REPORT_LIBRARY "," library)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/report)

add_executable(tlnmf_embed cmake/embed_assets.c)
add_custom_command(OUTPUT ${REPORT_ASSETS} VERBATIM
                   DEPENDS tlnmf_embed ${REPORT_MODULES} ${REPORT_STYLES} ${REPORT_LIBRARY}
                   COMMAND tlnmf_embed ${REPORT_ASSETS} script=${modules} style=${styles}
                           library=${library})
